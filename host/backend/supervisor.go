package backend

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/core/wire"
)

// maxMisses is how many deadlines in a row a backend may miss before its process
// is replaced.
const maxMisses = 2

// A Supervisor keeps one backend running. Its methods may be called from several
// goroutines at once. Close it when done.
type Supervisor struct {
	program   Program
	socketDir string
	env       []string
	logger    hclog.Logger

	starting sync.Mutex // held while a process is being started

	mu      sync.Mutex
	current *generation
	misses  int
	starts  int
	closed  bool
	ending  sync.WaitGroup
}

// New returns a supervisor of program, which is started by the first call. Its
// sockets are made below socketDir, a directory of mode 0700 that no policy
// grants. The logger receives the backend's own log.
func New(program Program, socketDir string, logger hclog.Logger) *Supervisor {
	return &Supervisor{
		program: program, socketDir: socketDir, logger: logger.Named(program.Name),
		env: environment(wire.LogLevelKey + "=" + logger.GetLevel().String()),
	}
}

// Program returns what the supervisor runs.
func (s *Supervisor) Program() Program { return s.program }

// Starts returns how many processes have been started so far.
func (s *Supervisor) Starts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.starts
}

// Start starts the process, if it does not run already, so that the first call
// need not wait for it.
func (s *Supervisor) Start() error {
	_, err := s.acquire()
	return err
}

// Close ends the process, letting it finish the calls in flight. Later calls
// fail with ErrClosed.
func (s *Supervisor) Close() error {
	s.starting.Lock()
	defer s.starting.Unlock()
	s.mu.Lock()
	g := s.current
	s.current, s.closed = nil, true
	s.mu.Unlock()
	if g != nil {
		g.end(endTimeout)
	}
	s.ending.Wait()
	return nil
}

// acquire returns the running process, starting one if there is none.
func (s *Supervisor) acquire() (*generation, error) {
	if g, err := s.running(); g != nil || err != nil {
		return g, err
	}
	s.starting.Lock()
	defer s.starting.Unlock()
	if g, err := s.running(); g != nil || err != nil {
		return g, err
	}
	g, err := start(s.program, s.socketDir, s.env, s.logger)
	if err != nil {
		return nil, &core.Error{
			Reason: core.ErrUnavailable, Stage: core.StageBackend, Backend: s.program.Name,
			Detail: fmt.Sprintf("the backend %q does not start", s.program),
			Remedy: "run it by hand, or see its log with -v", Err: err,
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current, s.misses = g, 0
	s.starts++
	return g, nil
}

func (s *Supervisor) running() (*generation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, &core.Error{Reason: core.ErrClosed, Stage: core.StageBackend, Backend: s.program.Name, Detail: "the host is closed"}
	}
	if s.current != nil && s.current.dead() {
		s.retire(s.current)
	}
	return s.current, nil
}

// retire takes g out of service and ends its process. The caller holds s.mu.
func (s *Supervisor) retire(g *generation) {
	if s.current != g {
		return
	}
	s.current = nil
	s.ending.Add(1)
	go func() {
		defer s.ending.Done()
		g.end(0)
	}()
}

func (s *Supervisor) discard(g *generation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retire(g)
}

// call makes one call within limit. If the process dies under it, the call is
// made once more on a new one.
func (s *Supervisor) call(ctx context.Context, stage core.Stage, limit time.Duration, f func(context.Context, *generation) error) error {
	for attempt := 1; ; attempt++ {
		g, err := s.acquire()
		if err != nil {
			return err
		}
		err = s.try(ctx, g, limit, f)
		if err == nil {
			return nil
		}
		if errors.Is(err, errDied) && attempt == 1 && ctx.Err() == nil {
			continue
		}
		return s.explain(err, stage)
	}
}

var errDied = errors.New("the backend died during the call")

func (s *Supervisor) try(ctx context.Context, g *generation, limit time.Duration, f func(context.Context, *generation) error) error {
	callCtx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	defer context.AfterFunc(g.alive, cancel)()
	err := f(callCtx, g)
	switch {
	case err == nil:
		s.mu.Lock()
		s.misses = 0
		s.mu.Unlock()
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case g.dead() || status.Code(err) == codes.Unavailable:
		s.discard(g)
		return fmt.Errorf("%w: %w", errDied, err)
	case callCtx.Err() != nil:
		s.missed(g)
		return fmt.Errorf("the backend did not answer within %v", limit)
	}
	return err
}

// missed counts a deadline and replaces a process that misses too many.
func (s *Supervisor) missed(g *generation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != g {
		return
	}
	if s.misses++; s.misses >= maxMisses {
		s.retire(g)
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
	e = &core.Error{Reason: core.ErrUnavailable, Stage: stage, Backend: s.program.Name, Detail: "the call failed", Err: err}
	if status.Code(err) == codes.Unimplemented {
		e.Reason, e.Detail, e.Err = core.ErrUnsupported, "the backend does not have this service", nil
		e.Remedy = "pinfold backend describe shows what it is"
	}
	return e
}

// unary makes a unary call and refuses a response that is not understood whole.
func unary[Request, Response proto.Message](ctx context.Context, method func(context.Context, Request) (Response, error), request Request) (Response, error) {
	response, err := method(ctx, request)
	if err == nil {
		err = wire.CheckUnderstood(response)
	}
	return response, err
}
