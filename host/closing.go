package host

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/pinfold/pinfold/core"
)

const (
	// closeGrace is how long Close goes on after the end of its context. Killing
	// thousands of processes takes a fraction of it.
	closeGrace = 2 * time.Second
	// birthGrace is how long Close leaves births that are under way alone. One
	// takes a millisecond; what takes longer waits for a filesystem that does not
	// answer, and is killed with the session.
	birthGrace = 100 * time.Millisecond
	// reapGrace is how long Close waits for commands that the tracker says are
	// dead and that nobody has waited for.
	reapGrace = time.Second
	// abandonTime bounds the undoing of an Open that failed.
	abandonTime = 15 * time.Second
)

// Close kills every process of the session, removes what the session left on the
// machine, and returns the report, which is never nil. Calls of Wait return then,
// and commands that nobody waited for are reaped.
//
// Closing is a guarantee, and takes milliseconds as a rule. So the end of ctx,
// even before the call, does not keep Close from killing: it bounds how long
// Close goes on trying, to two seconds more.
//
// If processes survive, the error is of reason ErrSurvivors and the report names
// them. After that, and after any other error, Close may be called again and does
// what is still to do; commands cannot be started any more. Once Close has
// succeeded, later calls return the same report.
func (s *Session) Close(ctx context.Context) (*Report, error) {
	ctx, cancel := lasting(ctx, closeGrace)
	defer cancel()
	return s.end(ctx)
}

// lasting returns a context that ends a while after parent does.
func lasting(parent context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(parent))
	stop := context.AfterFunc(parent, func() {
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, func() { stop(); cancel() }
}

func (s *Session) end(ctx context.Context) (*Report, error) {
	s.ending.Lock()
	defer s.ending.Unlock()
	if !s.ended {
		if err := s.endProcesses(ctx); err != nil {
			return s.summary(), err
		}
	}
	if !s.removed {
		if err := s.removeTemp(ctx); err != nil {
			return s.summary(), err
		}
		s.removed = true
	}
	return s.summary(), nil
}

func (s *Session) endProcesses(ctx context.Context) error {
	if err := s.stopBirths(ctx); err != nil {
		return err
	}
	left, err := s.host.tracker.Close(ctx, s.opened.Handle)
	s.left = add(s.left, left)
	if err == nil && left == nil {
		err = &core.Error{Reason: core.ErrInternal, Stage: core.StageClose,
			Detail: "the tracker closed the session without a report", Remedy: "use another version of the tracker"}
	}
	if err != nil {
		return err
	}
	s.ended, s.closed = true, time.Now()
	s.reap()
	s.host.remove(s)
	s.release()
	return nil
}

// stopBirths lets no more commands be born, and waits for those that are being.
func (s *Session) stopBirths(ctx context.Context) error {
	s.mu.Lock()
	if !s.closing {
		s.closing = true
		if s.births == 0 {
			close(s.quiet)
		}
	}
	s.mu.Unlock()
	patience := time.NewTimer(birthGrace)
	defer patience.Stop()
	select {
	case <-s.quiet:
	case <-patience.C:
		// A process is a member before it is executed.
		if _, err := s.host.tracker.Kill(ctx, s.opened.Handle); err != nil {
			return err
		}
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-s.quiet:
	case <-ctx.Done():
		return ctx.Err()
	}
	s.mu.Lock()
	proof := s.proof
	s.mu.Unlock()
	if proof != nil {
		// The tracker is to see the process before it is dead and reaped.
		select {
		case <-proof.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// reap waits for the commands that nobody has waited for, so that no zombie is
// left of them.
func (s *Session) reap() {
	s.mu.Lock()
	commands := slices.Clone(s.commands)
	s.mu.Unlock()
	late := time.NewTimer(reapGrace)
	defer late.Stop()
	for _, c := range commands {
		go c.wait()
	}
	for _, c := range commands {
		select {
		case <-c.ended:
		case <-late.C:
			return
		}
	}
}

// add puts together what two attempts at killing did.
func add(earlier, later *core.KillReport) *core.KillReport {
	if earlier == nil || later == nil {
		return cmp.Or(later, earlier)
	}
	sum := *later
	sum.Killed += earlier.Killed
	sum.Processes = earlier.Processes
	for _, p := range later.Processes {
		if len(sum.Processes) < core.KillReportProcesses && !slices.Contains(sum.Processes, p) {
			sum.Processes = append(slices.Clip(sum.Processes), p)
		}
	}
	return &sum
}

// abandon undoes an Open that failed with that error.
func (s *Session) abandon(failure error) error {
	ctx, cancel := context.WithTimeout(context.Background(), abandonTime)
	defer cancel()
	var err error
	if s.opened == nil && !refusesOpen(failure) {
		// The tracker may have opened the session all the same, and its answer
		// was lost. Open returns the same handle again.
		if s.opened, err = s.openTracked(ctx); err != nil {
			s.opened, err = nil, nil // the failure has been told
		}
	}
	if s.opened != nil {
		_, err = s.host.tracker.Close(ctx, s.opened.Handle)
	}
	s.release()
	return errors.Join(err, s.removeTemp(ctx))
}

// refusesOpen reports whether a tracker that returned err from Open has
// certainly not opened the session: it refused, or it does not start.
func refusesOpen(err error) bool {
	var e *core.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Reason {
	case core.ErrNotPermitted, core.ErrUnsupported, core.ErrUnknownFeature, core.ErrInvalidRequest,
		core.ErrInvalidPolicy, core.ErrNotFound, core.ErrClosed:
		return true
	}
	return e.Stage == core.StageBackend
}

// release gives back what this process holds of the session.
func (s *Session) release() {
	s.plan.Close()
	if s.opened != nil {
		s.opened.Birth.Close()
	}
}

func (s *Session) removeTemp(ctx context.Context) error {
	if s.temp == "" {
		return nil
	}
	if err := removeTree(ctx, s.temp); err != nil {
		return &core.Error{
			Reason: core.ErrNotPermitted, Stage: core.StageClose, Path: s.temp, Err: err,
			Detail: "the session's temporary directory cannot be removed",
			Remedy: "remove it by hand, or run pinfold sweep when this program has ended",
		}
	}
	return nil
}
