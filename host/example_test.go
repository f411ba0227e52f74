package host_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/host"
)

// A command writes in its workspace, fails to write elsewhere, and leaves a
// process behind, which the session's end kills.
func Example() {
	if err := runConfined(); err != nil {
		log.Print(err)
	}
}

func runConfined() error {
	ctx := context.Background()
	workspace, err := os.MkdirTemp("", "example")
	if err != nil {
		return err
	}
	defer os.RemoveAll(workspace)

	h, err := host.New(host.Options{})
	if err != nil {
		return err
	}
	defer h.Close()
	s, err := h.Open(ctx, core.WorkspaceWrite(workspace))
	var unenforced *host.UnenforcedError
	if errors.As(err, &unenforced) {
		return fmt.Errorf("this machine is too old: %w", err)
	}
	if err != nil {
		return err
	}
	cmd := s.Command("sh", "-c", `
		echo text > file && echo inside: written
		echo text 2>/dev/null > "$HOME/file" || echo outside: refused
		setsid sleep 1000 >/dev/null 2>&1 &`)
	cmd.Stdout = os.Stdout
	if err := cmd.Run(); err != nil {
		return err
	}
	report, err := s.Close(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("left running and killed: %d (%s)\n", report.Left.Killed, report.Left.Outcome)
	return nil
}
