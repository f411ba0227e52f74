//go:build !unix

package job

import (
	"context"
	"os"
	"syscall"
)

// A SignalError says that a signal ended pinfold's work before the command had
// been started. It does not occur on this platform.
type SignalError struct{ Signal syscall.Signal }

func (e SignalError) Error() string { return e.Signal.String() + " before the command was started" }

// A Relay does nothing on this platform, which has no jobs.
type Relay struct{}

// NewRelay returns a relay and ctx itself.
func NewRelay(ctx context.Context) (*Relay, context.Context) { return &Relay{}, ctx }

// Launch does nothing.
func (*Relay) Launch() {}

// Attach does nothing.
func (*Relay) Attach(*os.Process) {}

// Detach does nothing.
func (*Relay) Detach() {}

// Close does nothing.
func (*Relay) Close() {}
