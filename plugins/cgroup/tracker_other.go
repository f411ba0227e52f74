//go:build !linux

package cgroup

import (
	"context"
	"runtime"
	"time"

	"github.com/pinfold/pinfold/core"
)

// A Tracker tracks sessions by cgroups, on Linux. Elsewhere there are none:
// every method but Describe and Probe fails with [core.ErrUnsupported].
type Tracker struct{ timeout time.Duration }

// New returns a tracker.
func New(options ...Option) *Tracker {
	t := &Tracker{timeout: DefaultKillTimeout}
	for _, option := range options {
		option(t)
	}
	return t
}

func unsupported(stage core.Stage) error {
	return &core.Error{
		Reason:  core.ErrUnsupported,
		Stage:   stage,
		Backend: Name,
		Detail:  "there are no cgroups on " + runtime.GOOS,
		Remedy:  "use a tracker for this system",
	}
}

// Probe implements [core.Backend].
func (t *Tracker) Probe(context.Context) (*core.Capability, error) {
	c := &core.Capability{Facts: []core.Fact{{Name: "system", Value: runtime.GOOS}}}
	for _, d := range []core.Dimension{core.Cleanup, core.Limits} {
		c.Findings = append(c.Findings, core.Finding{
			Dimension: d, Level: core.Unsupported, Gap: "there are no cgroups on " + runtime.GOOS, Required: "Linux",
		})
	}
	return c, nil
}

// Open implements [core.Tracker].
func (t *Tracker) Open(context.Context, *core.OpenRequest) (*core.Opened, error) {
	return nil, unsupported(core.StageOpen)
}

// Verify implements [core.Tracker].
func (t *Tracker) Verify(context.Context, core.Handle, int) error {
	return unsupported(core.StageVerify)
}

// List implements [core.Tracker].
func (t *Tracker) List(context.Context, core.Handle) ([]core.Process, error) {
	return nil, unsupported(core.StageList)
}

// Kill implements [core.Tracker].
func (t *Tracker) Kill(context.Context, core.Handle) (*core.KillReport, error) {
	return nil, unsupported(core.StageKill)
}

// Close implements [core.Tracker].
func (t *Tracker) Close(context.Context, core.Handle) (*core.KillReport, error) {
	return nil, unsupported(core.StageClose)
}

// Sessions implements [core.Tracker].
func (t *Tracker) Sessions(context.Context) ([]core.SessionStatus, error) {
	return nil, unsupported(core.StageList)
}

// Sweep implements [core.Tracker].
func (t *Tracker) Sweep(context.Context) (*core.SweepReport, error) {
	return nil, unsupported(core.StageSweep)
}

// HostGone has nothing to close.
func (t *Tracker) HostGone(context.Context) error { return nil }
