package host

import (
	"context"
	"slices"

	"github.com/pinfold/pinfold/core"
)

// openTracked opens the session with the tracker.
func (s *Session) openTracked(ctx context.Context) (*core.Opened, error) {
	request := s.openRequest()
	move, err := s.host.mayBeMoved(ctx)
	if err != nil {
		return nil, err
	}
	request.MoveOwner = move
	return s.host.tracker.Open(ctx, request)
}

// mayBeMoved reports whether the tracker is told that it may move this process. A
// tracker that does not know of such a permission is not given it, which takes
// nothing from it: it would refuse a request that it cannot wholly read. It is asked
// each time, since another version may have taken its place.
func (h *Host) mayBeMoved(ctx context.Context) (bool, error) {
	if !h.options.MoveHost {
		return false, nil
	}
	d, err := h.tracker.Describe(ctx)
	if err != nil {
		return false, err
	}
	return slices.Contains(d.Features, core.FeatureMoveOwner), nil
}
