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
	limits    limits

	mu      sync.Mutex
	current *generation
	launch  *launch // the start that is under way, if one is
	misses  int
	starts  int
	closed  bool
	running sync.WaitGroup // starts under way and processes that are being ended
	deaths  chan struct{}
}

// launch is the start of a process, which every call that needs it waits for.
type launch struct {
	done chan struct{} // closed when g and err are set
	g    *generation
	err  error
}

// New returns a supervisor of program, which is started by the first call. Its
// sockets are made below socketDir, a directory of mode 0700 that no policy
// grants. The logger receives the backend's own log.
func New(program Program, socketDir string, logger hclog.Logger) *Supervisor {
	return &Supervisor{
		program: program, socketDir: socketDir, logger: logger.Named(program.Name), limits: usualLimits,
		env: environment(wire.LogLevelKey + "=" + logger.GetLevel().String()), deaths: make(chan struct{}, 1),
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

// Deaths returns a channel that tells when a process has ended without Close
// having been called. Deaths that nobody has received yet are told as one.
func (s *Supervisor) Deaths() <-chan struct{} { return s.deaths }

func (s *Supervisor) tellDeath() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	select {
	case s.deaths <- struct{}{}:
	default:
	}
}

// Start starts the process, if it does not run already, so that the first call
// need not wait for it.
func (s *Supervisor) Start() error {
	_, err := s.acquire(context.Background())
	return err
}

// Close ends the process, letting it finish the calls in flight. Later calls
// fail with ErrClosed.
func (s *Supervisor) Close() error {
	s.mu.Lock()
	s.closed = true
	if s.current != nil {
		s.retire(s.current, s.limits.end)
	}
	s.mu.Unlock()
	s.running.Wait()
	return nil
}

// acquire returns the running process, starting one if there is none. A start
// goes on when ctx ends: it is everybody's.
func (s *Supervisor) acquire(ctx context.Context) (*generation, error) {
	g, l, err := s.present()
	if l == nil {
		return g, err
	}
	select {
	case <-l.done:
		return l.g, l.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// present returns the running process, or else the start to wait for.
func (s *Supervisor) present() (*generation, *launch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, s.errClosed()
	}
	if s.current != nil && s.current.dead() {
		s.retire(s.current, 0)
	}
	if s.current == nil && s.launch == nil {
		s.launch = &launch{done: make(chan struct{})}
		s.running.Add(1)
		go s.start(s.launch)
	}
	return s.current, s.launch, nil
}

func (s *Supervisor) start(l *launch) {
	defer s.running.Done()
	l.g, l.err = start(s.program, s.socketDir, s.env, s.limits.start, s.logger)
	if l.err != nil {
		l.err = s.startError(l.err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer close(l.done)
	s.launch = nil
	if l.err != nil {
		return
	}
	s.starts++
	s.current, s.misses = l.g, 0
	context.AfterFunc(l.g.alive, s.tellDeath)
	if s.closed {
		s.retire(l.g, 0)
		l.g, l.err = nil, s.errClosed()
	}
}

// retire takes g out of service and ends its process, with patience if there may
// be calls in flight. The caller holds s.mu.
func (s *Supervisor) retire(g *generation, patience time.Duration) {
	if s.current != g {
		return
	}
	s.current = nil
	s.running.Add(1)
	go func() {
		defer s.running.Done()
		g.end(patience)
	}()
}

// replace takes g out of service after a call on it was cut off.
func (s *Supervisor) replace(g *generation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g.dead() {
		s.retire(g, 0)
	} else {
		// It says that it is stopping, and other calls may be in flight.
		s.retire(g, s.limits.end)
	}
}

// call makes one call within limit. If the process dies under it, the call is
// made once more on a new one.
func (s *Supervisor) call(ctx context.Context, stage core.Stage, limit time.Duration, f func(context.Context, *generation) error) error {
	for attempt := 1; ; attempt++ {
		g, err := s.acquire(ctx)
		if err != nil {
			return err
		}
		err = s.try(ctx, g, limit, f)
		if err == nil {
			return nil
		}
		if !errors.Is(err, errCutOff) {
			return s.explain(err, stage)
		}
		if attempt == 2 {
			err = s.cutOffError(g, stage, err)
		}
		s.replace(g)
		if attempt == 2 {
			return err
		}
	}
}

// errCutOff is the error of a call whose process or connection went away.
var errCutOff = errors.New("the call was cut off")

// try makes one call. Its error is ctx's if ctx ended.
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
		return fmt.Errorf("%w: %w", errCutOff, err)
	case callCtx.Err() != nil, status.Code(err) == codes.DeadlineExceeded:
		// The backend's clock may be the first to say so.
		if mine, _ := callCtx.Deadline(); isDeadline(ctx, mine) {
			return context.DeadlineExceeded
		}
		s.missed(g)
		return fmt.Errorf("the backend did not answer within %v", limit)
	}
	return err
}

// isDeadline reports whether ctx ends at that time.
func isDeadline(ctx context.Context, at time.Time) bool {
	deadline, ok := ctx.Deadline()
	return ok && deadline.Equal(at)
}

// missed counts a deadline and replaces a process that misses too many.
func (s *Supervisor) missed(g *generation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != g {
		return
	}
	if s.misses++; s.misses >= maxMisses {
		s.retire(g, 0)
	}
}

// unary makes a unary call and refuses a response that is not understood whole.
func unary[Request, Response proto.Message](ctx context.Context, method func(context.Context, Request) (Response, error), request Request) (Response, error) {
	response, err := method(ctx, request)
	if err == nil {
		err = wire.CheckUnderstood(response)
	}
	return response, err
}
