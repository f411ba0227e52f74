package landlock

import (
	"context"
	"runtime"
	"sync"

	"github.com/pinfold/pinfold/core"
)

// Version is the version of this backend.
const Version = "0.1.0"

// Name is the name of this backend in descriptions, handles and errors.
const Name = "landlock"

// A Confiner confines by Landlock and seccomp. It holds nothing but what it found
// out about the machine, which does not change while a process runs. Use [New].
// It is safe for concurrent use.
type Confiner struct {
	observe func() (*machine, error)

	mu    sync.Mutex
	known *machine
}

var _ core.Confiner = (*Confiner)(nil)

// New returns a confiner for this machine. It asks the kernel nothing yet. On
// systems other than Linux, Probe and Plan fail with [core.ErrUnsupported].
func New() *Confiner { return &Confiner{observe: observeMachine} }

// Describe implements [core.Backend].
func (c *Confiner) Describe(context.Context) (*core.Description, error) {
	return &core.Description{
		Name:     Name,
		Version:  Version,
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Features: []string{
			core.FeatureDenyRules,
			core.FeatureNetworkPorts,
			core.FeatureUnixPaths,
			core.FeatureProcessLimits,
		},
	}, nil
}

// machine returns what is known of the machine, and finds it out the first time.
// A failure is not kept: the next call asks again.
func (c *Confiner) machine() (*machine, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		m, err := c.observe()
		if err != nil {
			return nil, err
		}
		c.known = m
	}
	return c.known, nil
}
