package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/host/birth"
)

// A Cmd is a command of a session, prepared or running. Its fields and methods
// mean what those of os/exec's Cmd mean, and like one it is used once and by one
// goroutine at a time.
type Cmd struct {
	// Path is the program; a relative one is relative to Dir.
	Path string
	// Args is the argument vector, Args[0] included.
	Args []string
	// Env are further NAME=VALUE pairs, which win over the session's.
	Env []string
	// Dir is the working directory; empty means the policy's workspace.
	Dir string

	// Stdin, Stdout and Stderr are the standard streams. An *os.File is given to
	// the command itself; anything else is copied by goroutines that Wait waits
	// for; nil is the null device.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// ExtraFiles become descriptors 3 and up. Nothing else is inherited.
	ExtraFiles []*os.File

	// NewSession and ProcessGroup start the command in a session, or in a
	// process group, of its own. The default is the host's.
	NewSession, ProcessGroup bool
	// WaitDelay bounds how long Wait goes on copying after the command has
	// exited, for a descendant that keeps a stream open; 0 is no bound.
	WaitDelay time.Duration

	// Process is set by Start, ProcessState by Wait.
	Process      *os.Process
	ProcessState *os.ProcessState

	session  *Session
	ctx      context.Context
	lookErr  error
	terminal *os.File // becomes the controlling terminal
	streams  streams
	ended    chan struct{} // closed when the process is reaped, for ctx

	mu      sync.Mutex // guards what outcome reads
	started time.Time
	elapsed time.Duration
	state   *os.ProcessState
}

// Command prepares a command of the session. A name without a slash is looked
// for in the session's PATH; what goes wrong then is Start's error.
func (s *Session) Command(name string, args ...string) *Cmd {
	c := &Cmd{session: s, Args: append([]string{name}, args...), ctx: context.Background()}
	c.Path, c.lookErr = lookPath(name, s.env)
	return c
}

// CommandContext is like Command, and kills the command when ctx ends before it.
// Its descendants go on until the session is killed or closed.
func (s *Session) CommandContext(ctx context.Context, name string, args ...string) *Cmd {
	c := s.Command(name, args...)
	c.ctx = ctx
	return c
}

// Run starts the command and waits for it.
func (c *Cmd) Run() error {
	if err := c.Start(); err != nil {
		return err
	}
	return c.Wait()
}

// Start starts the command and returns once it executes, confined and a member
// of the session. The error is a *core.Error of reason ErrLaunchFailed and stage
// StageExec if the system does not execute the program; errors.Is then knows
// fs.ErrNotExist, fs.ErrPermission and exec.ErrNotFound.
func (c *Cmd) Start() error {
	if c.Process != nil {
		return errors.New("host: the command was started already")
	}
	if c.lookErr != nil {
		c.streams.close()
		return launchError(core.StageExec, c.lookErr)
	}
	if err := c.ctx.Err(); err != nil {
		c.streams.close()
		return err
	}
	if err := c.session.launch(c); err != nil {
		c.streams.close()
		return err
	}
	c.streams.started()
	if c.ctx.Done() != nil {
		c.ended = make(chan struct{})
		go c.followContext()
	}
	return nil
}

func (c *Cmd) followContext() {
	select {
	case <-c.ctx.Done():
		c.Process.Kill()
	case <-c.ended:
	}
}

// Wait waits for the command to exit and for its streams to be copied. The error
// is an *exec.ExitError if the exit status is not 0, and the context's if that
// is why the command was killed.
func (c *Cmd) Wait() error {
	if c.Process == nil {
		return errors.New("host: the command was not started")
	}
	if c.ProcessState != nil {
		return errors.New("host: Wait was called already")
	}
	// The tracker is to see the process before it is reaped and its pid free.
	<-c.session.verified
	state, err := c.Process.Wait()
	if c.ended != nil {
		close(c.ended)
	}
	if err != nil {
		return fmt.Errorf("waiting for the command: %w", err)
	}
	c.ProcessState = state
	c.mu.Lock()
	c.state, c.elapsed = state, time.Since(c.started)
	c.mu.Unlock()
	copyErr := c.streams.wait(c.WaitDelay)
	if err := c.session.verifyErr; err != nil {
		return err
	}
	if err := c.ctx.Err(); err != nil && !state.Success() {
		return err
	}
	if !state.Success() {
		return &exec.ExitError{ProcessState: state}
	}
	return copyErr
}

// launch gives birth to the command and proves that it is a member.
func (s *Session) launch(c *Cmd) error {
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		return &core.Error{Reason: core.ErrClosed, Stage: core.StageBirth, Detail: "the session is closed"}
	}
	s.running.Add(1)
	s.mu.Unlock()
	defer s.running.Done()

	bearing, err := c.birth()
	if err != nil {
		return err
	}
	started := time.Now()
	process, err := birth.Start(bearing, s.birth)
	if err != nil {
		return explainBirth(err)
	}
	if err := s.verifyFirst(process); err != nil {
		process.Kill()
		process.Wait()
		return err
	}
	c.Process = process
	c.started = started
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commands = append(s.commands, c)
	return nil
}

// verifyFirst asks the tracker whether the session's first process is a member.
// Later ones are born with the very same attributes, of which the kernel refuses
// a birth that it cannot give in full.
//
// A process cloned into a cgroup is a member of that cgroup or does not exist
// (clone3(2)), so what is left to find out is whether the tracker handed out the
// right one. That is asked while the command already runs, and Wait has the
// answer. Any other membership is proved before Start returns.
func (s *Session) verifyFirst(process *os.Process) error {
	s.verifying.Do(func() {
		verify := func() {
			defer close(s.verified)
			s.verifyErr = s.host.Tracker().Verify(context.Background(), s.opened.Handle, process.Pid)
			if s.verifyErr != nil {
				process.Kill()
			}
		}
		if s.birth.Cgroup == nil {
			verify()
			return
		}
		go verify()
	})
	if s.birth.Cgroup == nil {
		<-s.verified
		return s.verifyErr
	}
	return nil
}

// birth returns what to start, wrappers in front.
func (c *Cmd) birth() (*birth.Command, error) {
	files, err := c.streams.open(c)
	if err != nil {
		return nil, err
	}
	b := &birth.Command{
		Path: c.Path, Args: c.Args, Dir: c.dir(), Env: c.session.env,
		Files: append(files, c.ExtraFiles...), Setsid: c.NewSession, Setpgid: c.ProcessGroup,
	}
	for _, pair := range append([]string{"PWD=" + b.Dir}, c.Env...) {
		b.Env = set(b.Env, pair)
	}
	if c.terminal != nil {
		b.Setsid, b.Setpgid, b.ControllingTerminal = true, false, c.terminal
	}
	if c.session.plan != nil {
		for i := len(c.session.plan.Wrappers) - 1; i >= 0; i-- {
			w := c.session.plan.Wrappers[i]
			b.Args = append(append([]string{w.Path}, w.Args...), append([]string{b.Path}, b.Args[1:]...)...)
			b.Path = w.Path
		}
	}
	return b, nil
}

func (c *Cmd) dir() string {
	if c.Dir != "" {
		return c.Dir
	}
	return c.session.policy.Workspace
}

// outcome returns what the report says of the command.
func (c *Cmd) outcome() CommandReport {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := CommandReport{Args: c.Args, Dir: c.dir(), Started: c.started}
	if c.state == nil {
		return r
	}
	r.Exited, r.Elapsed, r.ExitCode = true, c.elapsed, c.state.ExitCode()
	if status, ok := c.state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		r.Signal = status.Signal().String()
	}
	return r
}

// explainBirth says of a failed birth whether the command or Pinfold is the
// matter.
func explainBirth(err error) error {
	var b *birth.Error
	if errors.As(err, &b) && (b.Step == birth.StepExec || b.Step == birth.StepDirectory) {
		return launchError(core.StageExec, err)
	}
	return launchError(core.StageBirth, err)
}

func launchError(stage core.Stage, err error) error {
	return &core.Error{Reason: core.ErrLaunchFailed, Stage: stage, Detail: "the command did not start", Err: err}
}
