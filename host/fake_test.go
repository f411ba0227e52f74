//go:build unix

package host

import (
	"context"
	"os"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/host/backend"
)

// Backends within the test's process, for what no real backend does. What they do
// wrong is the tests' matter; by default they promise everything and do nothing,
// so only commands that end by themselves are for them.

type fakeBackend struct{}

func (fakeBackend) Describe(context.Context) (*core.Description, error) {
	return &core.Description{Name: "fake"}, nil
}
func (fakeBackend) Probe(context.Context) (*core.Capability, error) { return &core.Capability{}, nil }

type fakeConfiner struct {
	fakeBackend
	// plan changes the plan that keeps every promise.
	plan func(*core.PlanRequest, *core.Plan) error

	mu       sync.Mutex
	requests []*core.PlanRequest
}

func (c *fakeConfiner) Plan(_ context.Context, r *core.PlanRequest) (*core.Plan, error) {
	c.mu.Lock()
	c.requests = append(c.requests, r)
	c.mu.Unlock()
	p := &core.Plan{Listing: "nothing"}
	for _, d := range core.Dimensions() {
		if d != core.Cleanup && r.Policy.Asks(d) {
			p.Enforcement.Dimensions = append(p.Enforcement.Dimensions, core.Finding{Dimension: d, Level: core.Enforced, Mechanism: "promises"})
		}
	}
	for _, contribution := range r.Contributions {
		p.Echoes = append(p.Echoes, contribution.Digest())
	}
	for _, constraint := range r.Constraints {
		p.Constraints = append(p.Constraints, core.ConstraintFinding{Constraint: constraint, Honoured: true})
	}
	if c.plan == nil {
		return p, nil
	}
	return p, c.plan(r, p)
}

type fakeTracker struct {
	fakeBackend
	open   func(*core.OpenRequest, *core.Opened) error
	verify func(ctx context.Context, pid int) error
	// close answers Close; kill answers Kill.
	close, kill func(context.Context) (*core.KillReport, error)

	mu            sync.Mutex
	opens, closes int
}

func (t *fakeTracker) Open(_ context.Context, r *core.OpenRequest) (*core.Opened, error) {
	t.mu.Lock()
	t.opens++
	t.mu.Unlock()
	o := &core.Opened{
		Handle:      core.Handle{Session: r.Session, Tracker: "fake"},
		Enforcement: core.Enforcement{Dimensions: []core.Finding{{Dimension: core.Cleanup, Level: core.Enforced, Mechanism: "promises"}}},
	}
	if t.open != nil {
		if err := t.open(r, o); err != nil {
			return nil, err
		}
	}
	return o, nil
}

func (t *fakeTracker) Verify(ctx context.Context, _ core.Handle, pid int) error {
	if t.verify == nil {
		return nil
	}
	return t.verify(ctx, pid)
}
func (t *fakeTracker) List(context.Context, core.Handle) ([]core.Process, error) { return nil, nil }
func (t *fakeTracker) Kill(ctx context.Context, _ core.Handle) (*core.KillReport, error) {
	if t.kill == nil {
		return &core.KillReport{Outcome: core.ProvedEmpty}, nil
	}
	return t.kill(ctx)
}
func (t *fakeTracker) Close(ctx context.Context, _ core.Handle) (*core.KillReport, error) {
	t.mu.Lock()
	t.closes++
	t.mu.Unlock()
	if t.close == nil {
		return &core.KillReport{Outcome: core.ProvedEmpty}, nil
	}
	return t.close(ctx)
}
func (t *fakeTracker) Sessions(context.Context) ([]core.SessionStatus, error) { return nil, nil }
func (t *fakeTracker) Sweep(context.Context) (*core.SweepReport, error) {
	return &core.SweepReport{}, nil
}

type fakeProcess struct {
	program backend.Program
	deaths  chan struct{}
	start   func() error
}

func (p *fakeProcess) Program() backend.Program { return p.program }
func (p *fakeProcess) Deaths() <-chan struct{}  { return p.deaths }
func (p *fakeProcess) Close() error             { return nil }
func (p *fakeProcess) Start() error {
	if p.start == nil {
		return nil
	}
	return p.start()
}

// fakeHost returns a host of these backends, and the tracker's process.
func fakeHost(t *testing.T, c *fakeConfiner, tr *fakeTracker) (*Host, *fakeProcess) {
	t.Helper()
	h, err := newHost(Options{Logger: hclog.NewNullLogger()})
	if err != nil {
		t.Fatal(err)
	}
	process := &fakeProcess{deaths: make(chan struct{}, 1)}
	h.confiner, h.tracker, h.confinerProcess, h.trackerProcess = c, tr, &fakeProcess{}, process
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error("closing the host:", err)
		}
	})
	return h, process
}

func existsDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}
