package core_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pinfold/pinfold/core"
)

func TestSessionID(t *testing.T) {
	before := time.Now().Truncate(time.Millisecond)
	id := core.NewSessionID()
	if made := id.Created(); made.Before(before) || made.After(time.Now()) {
		t.Errorf("made at %v, after %v", made, before)
	}
	if core.NewSessionID() == id {
		t.Error("two ids are the same")
	}
	back, err := core.ParseSessionID(id.String())
	if err != nil || back != id {
		t.Errorf("%v came back as %v, %v", id, back, err)
	}
	raw, err := json.Marshal(map[string]core.SessionID{"id": id})
	if err != nil || string(raw) != `{"id":"`+id.String()+`"}` {
		t.Errorf("%s, %v", raw, err)
	}
	var read map[string]core.SessionID
	if err := json.Unmarshal(raw, &read); err != nil || read["id"] != id {
		t.Errorf("%v, %v", read, err)
	}
	fixed, err := core.ParseSessionID("01890a5d-ac96-774b-bcce-b302099a8057")
	if want := time.UnixMilli(0x01890a5dac96); err != nil || !fixed.Created().Equal(want) {
		t.Errorf("made at %v, %v, want %v", fixed.Created(), err, want)
	}
	random, err := core.ParseSessionID("9f1c2f60-5e0b-4c4e-8a58-3f3ab9b4d7a1")
	if err != nil || !random.Created().IsZero() {
		t.Errorf("an id without a time: %v, %v", random.Created(), err)
	}
}

func TestParseSessionIDTakesOneForm(t *testing.T) {
	const id = "01890a5d-ac96-774b-bcce-b302099a8057"
	for _, s := range []string{
		"", "x", id[1:], id + "0", strings.ToUpper(id), "{" + id + "}", "urn:uuid:" + id,
		strings.ReplaceAll(id, "-", ""), id + "\n", "../" + id, "\x1b[2J",
	} {
		got, err := core.ParseSessionID(s)
		if err == nil || got != (core.SessionID{}) {
			t.Errorf("%q became %v", s, got)
		} else if strings.ContainsAny(err.Error(), "\x1b\n") {
			t.Errorf("the error carries what it quotes: %q", err)
		}
	}
	var id2 core.SessionID
	if id2.UnmarshalText([]byte("x")) == nil || id2 != (core.SessionID{}) {
		t.Error("a bad text changed an id")
	}
}

func TestLevelsAndOutcomes(t *testing.T) {
	for level, want := range map[core.Level]string{
		core.Enforced: "enforced", core.Partial: "partial", core.Unsupported: "unsupported", core.Skipped: "skipped",
	} {
		text, err := level.MarshalText()
		if err != nil || string(text) != want || level.String() != want {
			t.Errorf("%v, %s, %v, want %s", level, text, err, want)
		}
		var back core.Level
		if err := back.UnmarshalText(text); err != nil || back != level {
			t.Errorf("%s came back as %v, %v", text, back, err)
		}
	}
	for _, level := range []core.Level{0, 5, -1} {
		if _, err := level.MarshalText(); err == nil || level.Valid() || !strings.HasPrefix(level.String(), "Level(") {
			t.Errorf("%v passes for a level", level)
		}
	}
	for _, text := range []string{"", "Enforced", "full"} {
		var level core.Level
		if level.UnmarshalText([]byte(text)) == nil || level != 0 {
			t.Errorf("%q became %v", text, level)
		}
	}
	for outcome, want := range map[core.Outcome]string{
		core.ProvedEmpty: "proved empty", core.ObservedEmpty: "observed empty", core.GaveUp: "gave up",
	} {
		if text, err := outcome.MarshalText(); err != nil || string(text) != want || outcome.String() != want {
			t.Errorf("%s, %v, want %s", text, err, want)
		}
	}
	for _, outcome := range []core.Outcome{0, 4, -1} {
		if _, err := outcome.MarshalText(); err == nil || outcome.Valid() || !strings.HasPrefix(outcome.String(), "Outcome(") {
			t.Errorf("%v passes for an outcome", outcome)
		}
	}
	if _, err := json.Marshal(core.Finding{Dimension: core.Network}); err == nil {
		t.Error("a finding without a level was written")
	}
}

func TestDigestPartsDialectAndData(t *testing.T) {
	a := core.Contribution{Dialect: "a", Data: []byte("bc")}
	b := core.Contribution{Dialect: "ab", Data: []byte("c")}
	same := core.Contribution{Dialect: "a", Data: []byte("bc")}
	if a.Digest() == b.Digest() || a.Digest() != same.Digest() {
		t.Error("the digest does not tell contributions apart")
	}
}

func TestBirthClosesItsFiles(t *testing.T) {
	open := func() *os.File {
		f, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	cgroup, ruleset := open(), open()
	p := &core.Plan{Birth: core.Birth{Cgroup: cgroup, Landlock: []core.LandlockRuleset{{File: ruleset}, {}}}}
	for range 2 {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	if cgroup.Close() == nil || ruleset.Close() == nil {
		t.Error("a file is still open")
	}
	if (*core.Plan)(nil).Close() != nil || (*core.Birth)(nil).Close() != nil {
		t.Error("closing nothing failed")
	}
}

func TestEnforcementDimension(t *testing.T) {
	e := core.Enforcement{Dimensions: []core.Finding{{Dimension: core.Network, Level: core.Enforced}}}
	if f := e.Dimension(core.Network); f == nil || f.Level != core.Enforced || e.Dimension(core.FSRead) != nil {
		t.Errorf("got %v", f)
	}
}
