package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/pinfold/pinfold/cmd/pinfold/internal/job"
	"github.com/pinfold/pinfold/cmd/pinfold/internal/reportfile"
	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/host"
)

// outcome is what pinfold run reports: the session's report and what became of the
// command in terms of the command line.
type outcome struct {
	*host.Report
	ExitStatus int `json:"exit_status"`
	// TimedOut is what --timeout killed, the command among it; null if the time
	// was not up.
	TimedOut *core.KillReport `json:"timed_out"`
}

// run does what pinfold run is for. The error is an *exit, or nil for status 0.
func run(f *runFlags, args []string) error {
	failed := func(err error) error { return &exit{statusFailed, err} }
	policy, err := f.Policy()
	if err != nil {
		return failed(err)
	}
	var report *reportfile.Target
	if f.Report != "" {
		if report, err = reportfile.Open(f.Report, os.Stdout); err != nil {
			return failed(err)
		}
		defer report.Close()
	}
	relay, ctx := job.NewRelay(context.Background())
	defer relay.Close()
	h, err := newHost(f.Backends, logger(f.Verbose))
	if err != nil {
		return failed(err)
	}
	defer h.Close()
	s, err := h.Open(ctx, policy)
	if err != nil {
		return unopened(ctx, err)
	}
	f.announce(s)
	out := &outcome{}
	failure := out.attend(f, s, relay, args)
	end, err := s.Close(context.Background())
	err = errors.Join(err, h.Close())
	relay.Close()
	out.Report = end
	if err != nil {
		failure = errors.Join(failure, fmt.Errorf("ending the session: %w", err))
		out.ExitStatus = statusFailed
	}
	f.summarize(out)
	if report != nil {
		if err := report.Write(out); err != nil {
			failure = errors.Join(failure, err)
			if out.ExitStatus == 0 {
				out.ExitStatus = statusFailed
			}
		}
	}
	if out.ExitStatus == 0 && failure == nil {
		return nil
	}
	return &exit{out.ExitStatus, failure}
}

// unopened says why there is no session.
func unopened(ctx context.Context, err error) error {
	var signal job.SignalError
	if errors.As(context.Cause(ctx), &signal) {
		return &exit{128 + int(signal.Signal), signal}
	}
	return &exit{statusFailed, err}
}

// attend starts the command, waits for it, and fills in the exit status. The
// error says what went wrong beyond it.
func (out *outcome) attend(f *runFlags, s *host.Session, relay *job.Relay, args []string) error {
	cmd := s.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Dir = startDir(s.Policy().Workspace)
	relay.Launch()
	defer relay.Detach()
	if err := cmd.Start(); err != nil {
		out.ExitStatus, err = unstarted(cmd, s.Policy(), err)
		return err
	}
	relay.Attach(cmd.Process)
	if f.Timeout == 0 {
		err := cmd.Wait()
		out.ExitStatus, err = ended(err)
		return err
	}
	waited := make(chan error, 1)
	go func() { waited <- cmd.Wait() }()
	timer := time.NewTimer(f.Timeout)
	defer timer.Stop()
	select {
	case err := <-waited:
		out.ExitStatus, err = ended(err)
		return err
	case <-timer.C:
	}
	killed, err := s.Kill(context.Background())
	cmd.Process.Kill() // in case the tracker could not; without effect otherwise
	<-waited
	out.ExitStatus, out.TimedOut = statusTimeout, killed
	return err
}

// ended returns the exit status that a shell would give to a command that Wait
// returned err for.
func ended(err error) (int, error) {
	var exited *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case !errors.As(err, &exited):
		return statusFailed, err
	}
	if status, ok := exited.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return exited.ExitCode(), nil
}
