// Package owner tells processes apart for good: it reads the [core.Owner] of a
// process, and whether that very process still lives although pids are reused.
//
// Host and tracker must mean the same process by the same numbers. On Linux a
// pid has meaning in one PID namespace and a start time in one time namespace,
// so an Owner is compared only in the namespaces that it was read in.
package owner

import (
	"errors"
	"fmt"
	"os"

	"github.com/pinfold/pinfold/core"
)

// Self returns the Owner that describes the calling process.
func Self() (core.Owner, error) { return Of(os.Getpid()) }

// Of returns the Owner that describes the process with that pid now. A pid that
// nobody has, or whose process has ended and waits to be reaped, is an error of
// reason [core.ErrNotFound].
func Of(pid int) (core.Owner, error) {
	boot, err := bootID()
	if err != nil {
		return core.Owner{}, fmt.Errorf("owner: which boot this is: %w", err)
	}
	start, err := startTime(pid)
	if err != nil {
		return core.Owner{}, fmt.Errorf("owner: process %d: %w", pid, err)
	}
	return core.Owner{PID: pid, Start: start, Boot: boot}, nil
}

// Alive reports whether the very process that o describes still lives. A zombie
// does not: it cannot act any more.
//
// An error means that the system did not tell. Whoever would act on a death must
// then take the process for living.
func Alive(o core.Owner) (bool, error) {
	boot, err := bootID()
	if err != nil {
		return false, fmt.Errorf("owner: which boot this is: %w", err)
	}
	if o.Boot != boot {
		return false, nil
	}
	start, err := startTime(o.PID)
	if errors.Is(err, core.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("owner: process %d: %w", o.PID, err)
	}
	return start == o.Start, nil
}

func notFound(pid int, cause error) error {
	return &core.Error{Reason: core.ErrNotFound, Detail: fmt.Sprintf("there is no process %d", pid), Err: cause}
}
