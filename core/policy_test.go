package core_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/internal/golden"
)

// What a preset allows changes only with its golden file.
func TestPresets(t *testing.T) {
	for _, name := range core.Presets() {
		p, err := core.Preset(name, "/workspace")
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.MarshalIndent(p, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, '\n')
		golden.Compare(t, name+".json", string(got))
	}
}

func TestPresetsAreFresh(t *testing.T) {
	a := core.WorkspaceWrite("/w")
	a.Environment.Pass[0], a.Require[0], a.Filesystem.Rules[0].Access = "SECRET", "x", 0
	b := core.WorkspaceWrite("/w")
	if b.Environment.Pass[0] == "SECRET" || b.Require[0] == "x" || b.Filesystem.Rules[0].Access == 0 {
		t.Error("a change of one policy is in the next")
	}
	core.Dimensions()[0] = "x"
	if core.Dimensions()[0] == "x" {
		t.Error("the list of dimensions can be changed")
	}
}

func TestUnknownPreset(t *testing.T) {
	p, err := core.Preset("none\x1b", "/w")
	if !errors.Is(err, core.ErrInvalidPolicy) || p.Name != "" {
		t.Errorf("%+v, %v", p, err)
	}
	const want = `there is no preset "none\x1b" (use read-only, workspace-write or unrestricted)`
	if err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}

func TestAsks(t *testing.T) {
	fs := []core.Dimension{core.FSRead, core.FSWrite, core.FSExecute, core.FSMetadata}
	always := []core.Dimension{core.Descriptors, core.Cleanup}
	// The zero policy is invalid; what it does not say it asks for.
	unconfined := core.Unrestricted("/w")
	unconfined.Require = nil
	for name, c := range map[string]struct {
		change   func(*core.Policy)
		asks     []core.Dimension
		confines bool
	}{
		"nothing":     {func(*core.Policy) {}, nil, false},
		"files":       {func(p *core.Policy) { p.Filesystem.Confined = true }, fs, true},
		"network":     {func(p *core.Policy) { p.Network.Mode = core.NetworkAll }, []core.Dimension{core.Network}, true},
		"no network":  {func(p *core.Policy) { p.Network.Mode = 0 }, []core.Dimension{core.Network}, true},
		"unix":        {func(p *core.Policy) { p.Unix.Mode = core.UnixNone }, []core.Dimension{core.UnixSockets}, true},
		"environment": {func(p *core.Policy) { p.Environment.InheritAll = false }, []core.Dimension{core.Environment}, false},
		"limits":      {func(p *core.Policy) { p.Limits.NoCore = true }, []core.Dimension{core.Limits}, false},
		"the rest": {func(p *core.Policy) { p.Confine = true },
			[]core.Dimension{core.Signals, core.Tracing, core.Terminal, core.Privileges}, true},
		"a requirement": {func(p *core.Policy) { p.Require = []core.Dimension{core.Tracing} }, []core.Dimension{core.Tracing}, false},
	} {
		p := unconfined
		c.change(&p)
		for _, d := range core.Dimensions() {
			want := slices.Contains(c.asks, d) || slices.Contains(always, d)
			if p.Asks(d) != want {
				t.Errorf("%s: Asks(%s) is %v", name, d, !want)
			}
		}
		if p.Confines() != c.confines {
			t.Errorf("%s: Confines is %v", name, p.Confines())
		}
		if p.Asks("unknown") {
			t.Errorf("%s: it asks for a dimension that there is not", name)
		}
	}
}
