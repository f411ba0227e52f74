package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
	// Dir is the working directory; a relative one is below the policy's
	// workspace, and empty means the workspace itself.
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
	life     *life         // set by Start
	followed chan struct{} // closed when ctx has no effect any more; nil if it never had
	cut      bool          // ctx ended the command; set before followed is closed
}

// Command prepares a command of the session. A name without a slash is looked
// for in the session's PATH, whatever Env says later; what goes wrong then is
// Start's error.
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
		c.followed = make(chan struct{})
		go c.followContext()
	}
	return nil
}

func (c *Cmd) followContext() {
	defer close(c.followed)
	select {
	case <-c.ctx.Done():
		c.cut = c.Process.Kill() == nil
	case <-c.life.ended:
	}
}

// Wait waits for the command to exit and for its streams to be copied. The error
// is an *exec.ExitError if the exit status is not 0, and also the context's if
// that is why the command was killed. If the tracker found that the command was
// not a member of the session, the error is of reason ErrNotMember.
func (c *Cmd) Wait() error {
	if c.Process == nil {
		return errors.New("host: the command was not started")
	}
	if c.ProcessState != nil {
		return errors.New("host: Wait was called already")
	}
	// The tracker is to see the process before it is reaped and its pid free.
	<-c.life.proof.done
	state, err := c.life.wait()
	if err != nil {
		return fmt.Errorf("waiting for the command: %w", err)
	}
	c.ProcessState = state
	if c.followed != nil {
		<-c.followed
	}
	copyErr := c.streams.wait(c.WaitDelay)
	if err := c.life.proof.err; err != nil {
		return err
	}
	if state.Success() {
		return copyErr
	}
	exit := &exec.ExitError{ProcessState: state}
	if c.cut {
		return fmt.Errorf("%w: %w", c.ctx.Err(), exit)
	}
	return exit
}

// birth returns what to start, wrappers in front.
func (c *Cmd) birth() (*birth.Command, error) {
	files, err := c.streams.open(c)
	if err != nil {
		return nil, err
	}
	b := &birth.Command{
		Path: c.Path, Args: c.Args, Dir: c.dir(), Env: slices.Clone(c.session.env),
		Files: append(files, c.ExtraFiles...), Setsid: c.NewSession, Setpgid: c.ProcessGroup,
	}
	if len(b.Args) == 0 {
		b.Args = []string{b.Path}
	}
	for _, pair := range append([]string{"PWD=" + b.Dir}, c.Env...) {
		b.Env = set(b.Env, pair)
	}
	if c.terminal != nil {
		b.Setsid, b.Setpgid, b.ControllingTerminal = true, false, c.terminal
	}
	if c.session.plan != nil {
		wrap(b, c.session.plan.Wrappers)
	}
	return b, nil
}

// wrap puts programs in front of a command, the first outermost.
func wrap(b *birth.Command, wrappers []core.Wrapper) {
	for _, w := range slices.Backward(wrappers) {
		b.Args = slices.Concat([]string{w.Path}, w.Args, []string{b.Path}, b.Args[1:])
		b.Path = w.Path
	}
}

func (c *Cmd) dir() string {
	if filepath.IsAbs(c.Dir) {
		return c.Dir
	}
	return filepath.Join(c.session.policy.Workspace, c.Dir)
}
