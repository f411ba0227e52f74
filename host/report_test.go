//go:build unix

package host

import (
	"context"
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/internal/golden"
)

// The report as JSON, with what differs from run to run replaced by names.
func TestReportJSON(t *testing.T) {
	tracker := constrained()
	tracker.close = func(context.Context) (*core.KillReport, error) {
		return &core.KillReport{Outcome: core.ProvedEmpty, Killed: 1, Processes: []core.Process{{PID: 7, Parent: 1, Command: "sleep"}}}, nil
	}
	h, _ := fakeHost(t, &fakeConfiner{plan: func(_ *core.PlanRequest, p *core.Plan) error {
		p.Constraints[1].Honoured, p.Constraints[1].Gap = false, "no kernel holds it"
		f := p.Enforcement.Dimension(core.Signals)
		f.Level, f.Gap = core.Partial, "some pass"
		p.Enforcement.Rules = []core.Finding{{Dimension: core.FSRead, Rule: "read /missing", Level: core.Skipped, Gap: "does not exist"}}
		return nil
	}}, tracker)
	t.Setenv("A_SECRET", "x")
	_, ws := place(t)
	p := core.WorkspaceWrite(ws)
	p.BestEffort = true
	s, err := h.Open(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range []string{"exit 3", "kill -TERM $$"} {
		if err := s.Command("sh", "-c", script).Run(); err == nil {
			t.Fatal("it succeeded")
		}
	}
	h.note("something happened")
	report := mustEnd(t, s)
	report.Withheld = only(report.Withheld, "A_SECRET")
	text, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "report.json.golden", normal(string(text), ws, s)+"\n")
	if lost := report.Lost(); len(lost) != 2 || lost[0].Dimension != core.Cleanup || lost[1].Dimension != core.Signals {
		t.Errorf("lost: %+v", lost)
	}

	// A report of which the tracker could say nothing is JSON too.
	tracker.close = func(context.Context) (*core.KillReport, error) { return nil, errAway }
	if s, err = h.Open(context.Background(), p); err != nil {
		t.Fatal(err)
	}
	report, err = s.Close(context.Background())
	if err == nil {
		t.Fatal("it was closed")
	}
	if text, err = json.Marshal(report); err != nil || !strings.Contains(string(text), `"commands":[],"left":null`) || strings.Contains(string(text), `"closed"`) {
		t.Errorf("%s, %v", text, err)
	}
	tracker.close = nil
}

func only(names []string, want string) []string {
	for _, name := range names {
		if name == want {
			return []string{name}
		}
	}
	return nil
}

func normal(text, ws string, s *Session) string {
	text = strings.NewReplacer(ws, "WORKSPACE", s.id.String(), "SESSION", filepath.Dir(ws), "HOME").Replace(text)
	text = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+(Z|[+-]\d\d:\d\d)`).ReplaceAllString(text, "TIME")
	return regexp.MustCompile(`"elapsed_ns": \d+`).ReplaceAllString(text, `"elapsed_ns": NANOSECONDS`)
}
