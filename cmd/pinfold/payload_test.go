//go:build linux

package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
)

// self returns the path of this test binary, which is also what the tests run
// inside pinfold where a command has to be exact.
func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// payload is what the test binary does as a command of a session.
func payload(name string) {
	switch name {
	case "loop":
		// Says when it runs and each time that it is continued, until it is killed.
		continued := make(chan os.Signal, 1)
		signal.Notify(continued, syscall.SIGCONT)
		fmt.Println("ready-42")
		for range continued {
			fmt.Println("continued-42")
		}
	default:
		fmt.Println("there is no payload", name)
		os.Exit(2)
	}
}
