package landlock

import (
	"context"
	"runtime"

	"github.com/pinfold/pinfold/core"
)

// Version is the version of this backend.
const Version = "0.1.0"

// Name is the name of this backend in descriptions, handles and errors.
const Name = "landlock"

var _ core.Confiner = (*Confiner)(nil)

// New returns a confiner for this machine. It asks the kernel nothing yet. On
// systems other than Linux, Probe and Plan fail with [core.ErrUnsupported].
func New() *Confiner { return newConfiner() }

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
