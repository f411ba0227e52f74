package host

import (
	"context"
	"errors"

	"github.com/pinfold/pinfold/core"
)

// Sweep closes the sessions that dead hosts of this user left behind, and
// removes their temporary directories and the sockets of their backends.
func (h *Host) Sweep(ctx context.Context) (*core.SweepReport, error) {
	report, err := h.tracker.Sweep(ctx)
	if err != nil {
		return nil, err
	}
	// A directory is made before its session, and its owner is dead: if the
	// session exists, to outlive its owner, it is among those listed now.
	dead, deadErr := deadTemps(h.temp)
	sessions, err := h.tracker.Sessions(ctx)
	if err != nil {
		return report, errors.Join(deadErr, err)
	}
	errs := []error{deadErr, removeTemps(ctx, h.temp, dead, sessions), sweepSockets(h.sockets)}
	return report, errors.Join(errs...)
}

// sweepLater sweeps once in the life of the host, beside the first session. What
// it fails to remove harms nobody's session, so it is logged and left to
// "pinfold sweep".
func (h *Host) sweepLater() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.swept || h.closed {
		return
	}
	h.swept = true
	h.work.Go(func() {
		if _, err := h.Sweep(h.life); err != nil && h.life.Err() == nil {
			h.options.Logger.Warn("sweeping what dead hosts left", "error", err)
		}
	})
}
