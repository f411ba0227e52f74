//go:build unix

package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/host/backend"
	"github.com/pinfold/pinfold/internal/golden"
)

var (
	noWrites  = core.Constraint{Kind: core.NoWriteBelow, Path: "/groups", Why: "a process could move itself"}
	noManager = core.Constraint{Kind: core.NoConnect, Path: "/run/manager", Why: "the manager would start one"}
)

// constrained opens sessions with two constraints.
func constrained() *fakeTracker {
	return &fakeTracker{open: func(_ *core.OpenRequest, o *core.Opened) error {
		o.Constraints = []core.Constraint{noWrites, noManager}
		return nil
	}}
}

// TestOpenRefuses goes through what an open must not accept. Each error's text is
// in the golden file.
func TestOpenRefuses(t *testing.T) {
	lower := func(d core.Dimension, level core.Level, gap string) func(*core.PlanRequest, *core.Plan) error {
		return func(_ *core.PlanRequest, p *core.Plan) error {
			f := p.Enforcement.Dimension(d)
			f.Level, f.Gap, f.Remedy = level, gap, "a newer kernel"
			f.Observed, f.Required = "version 1", "version 2"
			return nil
		}
	}
	rule := func(level core.Level) func(*core.PlanRequest, *core.Plan) error {
		return func(_ *core.PlanRequest, p *core.Plan) error {
			p.Enforcement.Rules = []core.Finding{{Dimension: core.FSRead, Rule: "deny read /srv", Level: level, Gap: "there is no deny"}}
			return nil
		}
	}
	contributing := func(_ *core.OpenRequest, o *core.Opened) error {
		o.Contributions = []core.Contribution{{Dialect: "words@1", Data: []byte("some")}}
		return nil
	}
	cases := []struct {
		name   string
		open   func(*core.OpenRequest, *core.Opened) error
		plan   func(*core.PlanRequest, *core.Plan) error
		policy func(*core.Policy)
		want   core.Reason // "" if it is accepted
	}{
		{"all promises kept", constrained().open, nil, nil, ""},
		{"a required dimension in part", nil, lower(core.Network, core.Partial, "some of it passes"), nil, core.ErrUnenforced},
		{"a required dimension not at all", nil, lower(core.FSRead, core.Unsupported, "none of it"), nil, core.ErrUnenforced},
		{"a wanted dimension in part", nil, lower(core.Signals, core.Partial, "some of it passes"), nil, ""},
		{"a want made a requirement", nil, lower(core.Signals, core.Partial, "some of it passes"),
			func(p *core.Policy) { p.Require = append(p.Require, core.Signals) }, core.ErrUnenforced},
		{"a level forgotten", nil, lower(core.Network, 0, ""), nil, core.ErrUnenforced},
		{"a dimension without an answer", nil, func(_ *core.PlanRequest, p *core.Plan) error {
			p.Enforcement.Dimensions = slices.DeleteFunc(p.Enforcement.Dimensions, func(f core.Finding) bool { return f.Dimension == core.UnixSockets })
			return nil
		}, nil, core.ErrUnenforced},
		{"a rule that does not hold", nil, rule(core.Unsupported), nil, core.ErrUnenforced},
		{"a rule that holds in part", nil, rule(core.Partial), nil, ""},
		{"a rule that was skipped", nil, rule(core.Skipped), nil, ""},
		{"a contribution dropped", contributing, func(_ *core.PlanRequest, p *core.Plan) error { p.Echoes = nil; return nil }, nil, core.ErrInternal},
		{"a contribution changed", contributing, func(_ *core.PlanRequest, p *core.Plan) error { p.Echoes[0][0]++; return nil }, nil, core.ErrInternal},
		{"a contribution carried", contributing, nil, nil, ""},
		{"a constraint without an answer", constrained().open, func(_ *core.PlanRequest, p *core.Plan) error { p.Constraints = p.Constraints[:1]; return nil }, nil, core.ErrInternal},
		{"constraints answered in another order", constrained().open, func(_ *core.PlanRequest, p *core.Plan) error { slices.Reverse(p.Constraints); return nil }, nil, core.ErrInternal},
		{"a constraint not honoured", constrained().open, func(_ *core.PlanRequest, p *core.Plan) error {
			p.Constraints[1].Honoured, p.Constraints[1].Remedy = false, "Linux 7.1"
			return nil
		}, nil, core.ErrUnenforced},
		{"clean-up without an answer", func(_ *core.OpenRequest, o *core.Opened) error { o.Enforcement = core.Enforcement{}; return nil },
			func(_ *core.PlanRequest, p *core.Plan) error { // the confiner's word on it does not count
				p.Enforcement.Dimensions = append(p.Enforcement.Dimensions, core.Finding{Dimension: core.Cleanup, Level: core.Enforced})
				return nil
			}, nil, core.ErrUnenforced},
		{"limits that only the confiner answers for", nil, nil, func(p *core.Policy) {
			p.Limits.Processes, p.Limits.OpenFiles = 10, 10
			p.Require = append(p.Require, core.Limits)
		}, core.ErrUnenforced},
		{"limits that both answer for", func(_ *core.OpenRequest, o *core.Opened) error {
			o.Enforcement.Dimensions = append(o.Enforcement.Dimensions, core.Finding{Dimension: core.Limits, Level: core.Enforced})
			return nil
		}, nil, func(p *core.Policy) {
			p.Limits.Processes, p.Limits.OpenFiles = 10, 10
			p.Require = append(p.Require, core.Limits)
		}, ""},
		{"a requirement of what is not restricted", nil, nil, func(p *core.Policy) {
			p.Filesystem = core.Filesystem{}
		}, core.ErrUnenforced},
		{"two who set a limit", func(_ *core.OpenRequest, o *core.Opened) error {
			o.Birth.Limits = []core.ResourceLimit{{Resource: core.ResourceCore, Soft: 1, Hard: 1}}
			return nil
		}, func(_ *core.PlanRequest, p *core.Plan) error {
			p.Birth.Limits = []core.ResourceLimit{{Resource: core.ResourceCore}}
			return nil
		}, nil, core.ErrInternal},
		{"a wrapper of somebody else", nil, func(_ *core.PlanRequest, p *core.Plan) error {
			p.Wrappers = []core.Wrapper{{Path: "/bin/sh"}}
			return nil
		}, nil, core.ErrNotPermitted},
		{"a relative wrapper", nil, func(_ *core.PlanRequest, p *core.Plan) error { p.Wrappers = []core.Wrapper{{Path: "sh"}}; return nil }, nil, core.ErrNotPermitted},
	}
	var texts strings.Builder
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			tracker := &fakeTracker{open: c.open}
			h, _ := fakeHost(t, &fakeConfiner{plan: c.plan}, tracker)
			p := core.WorkspaceWrite(t.TempDir())
			if c.policy != nil {
				c.policy(&p)
			}
			if p.Filesystem.Confined == false {
				p.Filesystem.Rules = nil
			}
			s, err := h.Open(context.Background(), p)
			if err == nil {
				mustEnd(t, s)
			}
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, c.want) {
				t.Fatalf("%v, want %v", err, c.want)
			}
			if tracker.closes != 1 {
				t.Errorf("the session was closed %d times", tracker.closes)
			}
			texts.WriteString("# " + c.name + "\n" + err.Error() + "\n\n")
			if c.want != core.ErrUnenforced {
				return
			}
			// Best effort goes on, and reports the same.
			p.BestEffort = true
			if s, err = h.Open(context.Background(), p); err != nil {
				t.Fatal(err)
			}
			if report := mustEnd(t, s); len(report.Unenforced) == 0 {
				t.Error("best effort does not report what it lost")
			}
		})
	}
	if !t.Failed() {
		golden.Compare(t, "refusals.golden", texts.String())
	}
}

func mustEnd(t *testing.T, s *Session) *Report {
	t.Helper()
	report, err := s.Close(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// The plan asked for early is used if the tracker asks what it asked the last
// time, and made again if not.
func TestEarlyPlans(t *testing.T) {
	confiner, tracker := &fakeConfiner{}, constrained()
	h, _ := fakeHost(t, confiner, tracker)
	plans := func() int {
		s, err := h.Open(context.Background(), core.WorkspaceWrite(t.TempDir()))
		if err != nil {
			t.Fatal(err)
		}
		defer mustEnd(t, s)
		last := confiner.requests[len(confiner.requests)-1]
		if !slices.Equal(last.Constraints, s.opened.Constraints) || last.Session != s.id {
			t.Errorf("the plan was asked for with %+v", last)
		}
		n := len(confiner.requests)
		confiner.requests = nil
		return n
	}
	if n := plans(); n != 1 {
		t.Errorf("without a guess: %d plans", n)
	}
	if n := plans(); n != 1 {
		t.Errorf("with a right guess: %d plans", n)
	}
	tracker.open = func(_ *core.OpenRequest, o *core.Opened) error {
		o.Constraints = []core.Constraint{noManager}
		return nil
	}
	if n := plans(); n != 2 {
		t.Errorf("with a wrong guess: %d plans", n)
	}
}

func TestWrappers(t *testing.T) {
	dir := t.TempDir()
	own := filepath.Join(dir, "pinfold-fake")
	stage := "#!/bin/sh\necho stage \"$1\"; shift; exec \"$@\"\n"
	for _, name := range []string{own, own + "-stage", filepath.Join(dir, "other"), filepath.Join(dir, "allowed")} {
		if err := os.WriteFile(name, []byte(stage), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var wrappers []core.Wrapper
	h, _ := fakeHost(t, &fakeConfiner{plan: func(_ *core.PlanRequest, p *core.Plan) error {
		p.Wrappers = wrappers
		return nil
	}}, &fakeTracker{})
	h.confinerProcess = &fakeProcess{program: backend.Program{Name: "fake", Path: own}}
	h.options.Wrappers = []string{filepath.Join(dir, "allowed")}
	for path, ok := range map[string]bool{
		own: true, own + "-stage": true, filepath.Join(dir, "allowed"): true,
		filepath.Join(dir, "other"): false, dir + "/../" + filepath.Base(dir) + "/allowed": false, own + "-missing": false, "": false,
	} {
		wrappers = []core.Wrapper{{Path: path, Args: []string{"1"}}}
		s, err := h.Open(context.Background(), core.WorkspaceWrite(t.TempDir()))
		if err == nil {
			mustEnd(t, s)
		}
		if ok != (err == nil) {
			t.Errorf("%q: %v", path, err)
		}
	}
	wrappers = []core.Wrapper{{Path: own, Args: []string{"outer"}}, {Path: own + "-stage", Args: []string{"inner"}}}
	s, err := h.Open(context.Background(), core.WorkspaceWrite(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	defer mustEnd(t, s)
	output, err := s.Command("echo", "the", "command").Output()
	if string(output) != "stage outer\nstage inner\nthe command\n" || err != nil {
		t.Errorf("%q, %v", output, err)
	}
	// A program that others may write is not run.
	if err := os.Chmod(own+"-stage", 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Open(context.Background(), core.WorkspaceWrite(t.TempDir())); !errors.Is(err, core.ErrNotPermitted) {
		t.Errorf("a wrapper that everybody may write: %v", err)
	}
}
