//go:build !linux

package landlock

import (
	"context"
	"runtime"

	"github.com/pinfold/pinfold/core"
)

// A Confiner stands for the one of Linux: it can be described, and nothing more.
type Confiner struct{}

func newConfiner() *Confiner { return new(Confiner) }

// Probe implements [core.Backend]. There is nothing to find out here.
func (c *Confiner) Probe(context.Context) (*core.Capability, error) {
	return nil, elsewhere(core.StageProbe)
}

// Plan implements [core.Confiner].
func (c *Confiner) Plan(context.Context, *core.PlanRequest) (*core.Plan, error) {
	return nil, elsewhere(core.StagePlan)
}

func elsewhere(stage core.Stage) error {
	return &core.Error{Reason: core.ErrUnsupported, Stage: stage, Backend: Name,
		Detail: "Landlock is a part of Linux, and this is " + runtime.GOOS,
		Remedy: "use the backend of this platform"}
}
