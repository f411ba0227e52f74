//go:build linux

package main

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
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

func itoa(n int) string { return strconv.Itoa(n) }

// payload is what the test binary does as a command of a session.
func payload(name string) {
	signals := make(chan os.Signal, 16)
	switch name {
	case "loop":
		// Says when it runs and each time that it is continued, until it is killed.
		signal.Notify(signals, syscall.SIGCONT)
		fmt.Println("ready-42")
		for range signals {
			fmt.Println("continued-42")
		}
	case "report signals":
		// Names each signal, and ends at the second SIGTERM that follows another.
		signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2)
		fmt.Println("ready-42")
		for n := 1; ; n++ {
			fmt.Println(<-signals)
			if n == 3 {
				os.Exit(77)
			}
		}
	default:
		fmt.Println("there is no payload", name)
		os.Exit(2)
	}
}
