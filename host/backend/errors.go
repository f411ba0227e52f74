package backend

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/core/wire"
)

func (s *Supervisor) unavailable(stage core.Stage, detail string, err error) *core.Error {
	return &core.Error{Reason: core.ErrUnavailable, Stage: stage, Backend: s.program.Name, Detail: detail, Err: err}
}

func (s *Supervisor) errClosed() error {
	return &core.Error{Reason: core.ErrClosed, Stage: core.StageBackend, Backend: s.program.Name, Detail: "the host is closed"}
}

func (s *Supervisor) startError(err error) error {
	e := s.unavailable(core.StageBackend, fmt.Sprintf("the backend %q does not start", s.program), err)
	e.Remedy = "run it by hand, or see its log with -v"
	return e
}

// cutOffError is for a call that was cut off twice, the second time on g.
func (s *Supervisor) cutOffError(g *generation, stage core.Stage, err error) error {
	timer := time.NewTimer(endNotice)
	defer timer.Stop()
	select {
	case <-g.alive.Done():
		e := s.unavailable(stage, fmt.Sprintf("the backend %q died during the call, and again when the call was repeated: %s",
			s.program, g.proc.epitaph(epitaphLimit)), nil)
		e.Remedy = "see its log with -v"
		return e
	case <-timer.C:
		return s.unavailable(stage, fmt.Sprintf("the backend %q runs but cannot be called", s.program),
			errors.New(status.Convert(err).Message()))
	}
}

// explain turns a failed call into an error of this process.
func (s *Supervisor) explain(err error, stage core.Stage) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	_, err = wire.FromStatus(err)
	var e *core.Error
	if errors.As(err, &e) {
		if e.Backend == "" {
			e.Backend = s.program.Name
		}
		if e.Stage == "" {
			e.Stage = stage
		}
		return err
	}
	e = s.unavailable(stage, "the call failed", err)
	switch status.Code(err) {
	case codes.Unimplemented:
		e.Reason, e.Detail, e.Err = core.ErrUnsupported, "the backend does not have this service", nil
		e.Remedy = "pinfold backend describe shows what it is"
	case codes.ResourceExhausted:
		e.Reason, e.Detail, e.Err = core.ErrInvalidRequest, "the request, or the answer to it, is too large", errors.New(status.Convert(err).Message())
		e.Remedy = fmt.Sprintf("a message holds at most %d MiB; use fewer rules", wire.MaxMessage>>20)
	}
	return e
}
