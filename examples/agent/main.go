// Agent runs one command the way a coding agent would: confined to the current
// directory, without the network, and with nothing left running afterwards.
//
//	go run ./examples/agent -- sh -c 'ls; sleep 1000 >/dev/null 2>&1 &'
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/host"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) < 2 || args[0] != "--" {
		return errors.New("usage: agent -- COMMAND [ARG...]")
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	// In a login session the tracker needs a cgroup of its own for this program.
	h, err := host.New(host.Options{MoveHost: true})
	if err != nil {
		return err
	}
	defer h.Close()
	s, err := h.Open(ctx, core.WorkspaceWrite(dir))
	if err != nil {
		return err
	}
	cmd := s.Command(args[1], args[2:]...)
	cmd.WaitDelay = time.Second // a daemon may keep the pipe open
	output, runErr := cmd.CombinedOutput()
	report, err := s.Close(ctx)
	if err != nil {
		return err
	}
	var status *exec.ExitError
	if runErr != nil && !errors.As(runErr, &status) && !errors.Is(runErr, exec.ErrWaitDelay) {
		return runErr
	}
	fmt.Printf("%s\nexit status %d, %d processes left running and killed, %d dimensions not wholly enforced\n",
		output, report.Commands[0].ExitCode, report.Left.Killed, len(report.Lost()))
	return nil
}
