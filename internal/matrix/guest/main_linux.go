// Guest is the program that runs in the virtual machine. As the user that the matrix is about it asks pinfold what it can
// enforce, and then lets a rogue command try: without pinfold, as the control, and under it. It prints one JSON object, a
// trial.Observation.
//
//	guest observe PINFOLD    do all that
//	guest attempt            be the rogue command; its targets are in the variable ROGUE_TARGETS
//	guest fork TOKEN         be its daemon, and guest linger TOKEN that daemon's child
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/pinfold/pinfold/internal/matrix/trial"
)

func main() {
	role := ""
	if len(os.Args) > 1 {
		role = os.Args[1]
	}
	var err error
	switch {
	case role == "observe" && len(os.Args) == 3:
		err = printObservation(os.Args[2])
	case role == "attempt":
		if err = printOutcomes(); err == nil {
			os.Exit(trial.ExitStatus)
		}
	case role == "fork" && len(os.Args) == 3:
		err = fork(os.Args[2])
	case role == "linger" && len(os.Args) == 3:
		linger()
	default:
		err = fmt.Errorf("there is no role %q", os.Args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "guest:", err)
		os.Exit(1)
	}
}

func printObservation(pinfold string) error {
	observation, err := observe(pinfold)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(observation)
}

// linger says that it lives and then never ends by itself.
func linger() {
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM)
	ready := os.NewFile(3, "ready")
	fmt.Fprintln(ready, "ready")
	ready.Close()
	for {
		syscall.Pause()
	}
}
