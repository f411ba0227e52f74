package cgroup

import (
	"context"
	"runtime"
	"time"

	"github.com/pinfold/pinfold/core"
)

// Name is the name of the backend. Handles carry it.
const Name = "cgroup"

// Version is the semantic version of the backend.
const Version = "0.2.0"

// DefaultKillTimeout is how long Kill and Close try at most, unless the context
// ends first. SIGKILL takes effect in milliseconds; what is alive after seconds
// is stuck in the kernel.
const DefaultKillTimeout = 10 * time.Second

// An Option changes how a [Tracker] works.
type Option func(*Tracker)

// KillTimeout sets the tracker's own limit on Kill and Close. It must be
// positive.
func KillTimeout(d time.Duration) Option { return func(t *Tracker) { t.timeout = d } }

var _ core.Tracker = (*Tracker)(nil)

// Describe implements [core.Backend].
func (t *Tracker) Describe(context.Context) (*core.Description, error) {
	return &core.Description{
		Name:     Name,
		Version:  Version,
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Features: []string{core.FeatureSessionLimits, core.FeatureDetached, core.FeatureMoveOwner},
	}, nil
}
