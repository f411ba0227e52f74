//go:build unix

package job

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
)

// A SignalError says that a signal ended pinfold's work before the command had
// been started.
type SignalError struct{ Signal syscall.Signal }

func (e SignalError) Error() string {
	return fmt.Sprintf("%v before the command was started", e.Signal)
}

// ending are the signals that end a program unless it wants otherwise. Until the
// command runs they end the start; then they are the command's.
var ending = []os.Signal{
	syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2,
}

// stopping are the signals by which a terminal stops a job.
var stopping = []os.Signal{syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU}

// A Relay receives pinfold's signals from [NewRelay] to [Relay.Close].
type Relay struct {
	signals  chan os.Signal
	stops    chan os.Signal
	cancel   context.CancelCauseFunc
	terminal terminal
	ended    chan struct{}
	closing  sync.Once

	mu        sync.Mutex
	launching bool             // the command may run, or not
	early     []syscall.Signal // what came meanwhile
	command   *os.Process      // nil unless it runs
	group     int              // the process group that the command would have made for itself
	done      bool             // the command has been
	front     bool             // pinfold has been in the foreground of the terminal
	following following
}

// NewRelay begins to receive signals. The context that it returns ends with a
// [SignalError] as its cause if one comes that should end pinfold before the
// command is attached.
//
// SIGHUP or SIGINT that was ignored when pinfold was started (nohup, a background
// job of a shell without job control) stays ignored, for the command too. Of other
// signals the Go runtime does not keep that.
func NewRelay(ctx context.Context) (*Relay, context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	r := &Relay{
		// Room for one of each: the kernel does not queue more either.
		signals: make(chan os.Signal, 16), stops: make(chan os.Signal, 16),
		cancel: cancel, terminal: openTerminal(), ended: make(chan struct{}),
	}
	r.front = r.terminal.foreground() == syscall.Getpgrp()
	for _, sig := range ending {
		if !signal.Ignored(sig) {
			signal.Notify(r.signals, sig)
		}
	}
	// Caught, so that a write to a closed pipe is an error and not the end.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	r.watchStops()
	go r.receive()
	return r, ctx
}

// Launch says that the command is about to be started. What comes until Attach is
// kept for it.
func (r *Relay) Launch() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.launching = true
}

// Attach makes the signals the command's, and pinfold stop and continue with it.
func (r *Relay) Attach(command *os.Process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.command, r.group, r.launching = command, command.Pid, false
	for _, sig := range r.early {
		r.pass(sig)
	}
	r.early = nil
	r.follow()
}

// Detach ends what Launch and Attach began, for a command that has exited or was
// not started. Until Close,
// signals are received and have no effect, so that nothing disturbs the end of
// the session.
func (r *Relay) Detach() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.command, r.launching, r.done = nil, false, true
}

// Close gives the terminal back to pinfold's group if a process group that is
// gone still holds it, and lets signals have their usual effect again. It may be
// called more than once.
func (r *Relay) Close() {
	r.closing.Do(func() {
		r.Detach()
		r.mu.Lock()
		if r.front {
			r.terminal.reclaim(r.group)
		}
		r.mu.Unlock()
		signal.Stop(r.signals)
		r.unwatchStops()
		close(r.ended)
		r.cancel(nil)
		r.terminal.close()
	})
}

func (r *Relay) receive() {
	for {
		select {
		case sig := <-r.signals:
			r.handle(sig.(syscall.Signal))
		case sig := <-r.stops:
			r.handle(sig.(syscall.Signal))
		case <-r.ended:
			return
		}
	}
}

func (r *Relay) handle(sig syscall.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.command != nil:
		r.pass(sig)
	case r.done:
	case r.launching:
		r.early = append(r.early, sig)
	case sig == syscall.SIGCHLD || sig == syscall.SIGCONT:
	case slices.Contains(stopping, os.Signal(sig)):
		r.stop(sig)
	default:
		r.cancel(SignalError{sig})
	}
}

// pass does for the command what a signal to pinfold asks for.
func (r *Relay) pass(sig syscall.Signal) {
	switch sig {
	case syscall.SIGCHLD:
		r.follow()
	case syscall.SIGCONT:
		r.continued()
	case syscall.SIGTTIN, syscall.SIGTTOU:
		// The terminal sends these to a group that uses it from the background, the
		// command among it. pinfold follows.
	case syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTSTP:
		if !r.typed() {
			r.command.Signal(sig)
		}
	default:
		r.command.Signal(sig)
	}
}

// typed reports whether a signal that a keyboard makes is taken to come from one.
func (r *Relay) typed() bool {
	own := syscall.Getpgrp()
	group, err := syscall.Getpgid(r.command.Pid)
	return err == nil && group == own && r.terminal.foreground() == own
}
