//go:build linux

package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

func heading(title string) { fmt.Printf("%s\n", title) }

// bare is the yardstick: fork, exec and wait, with nothing around them.
func (b *bench) bare() error {
	pid, err := syscall.ForkExec(b.program, []string{b.program}, &syscall.ProcAttr{Files: []uintptr{0, 1, 2}})
	if err != nil {
		return err
	}
	var status syscall.WaitStatus
	for {
		_, err = syscall.Wait4(pid, &status, 0, nil)
		if err != syscall.EINTR {
			break
		}
	}
	if err == nil && status.ExitStatus() != 0 {
		err = fmt.Errorf("the program ended with %v", status)
	}
	return err
}

// compare times f and the yardstick in turn, so that a machine whose speed
// drifts does not favour one, and prints both medians and their ratio.
func (b *bench) compare(name string, rounds int, f func() error) error {
	for range min(rounds, 5) {
		if err := f(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	var bare, ours []time.Duration
	for range rounds {
		d, err := timed(b.bare)
		if err != nil {
			return err
		}
		bare = append(bare, d)
		if d, err = timed(f); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		ours = append(ours, d)
	}
	row(name, median(ours), median(bare))
	return nil
}

func row(name string, ours, bare time.Duration) {
	fmt.Printf("  %-34s %10s   bare %9s   ratio %6.2f\n", name, short(ours), short(bare), float64(ours)/float64(bare))
}

func timed(f func() error) (time.Duration, error) {
	start := time.Now()
	err := f()
	return time.Since(start), err
}

func median(list []time.Duration) time.Duration {
	slices.Sort(list)
	return list[len(list)/2]
}

func short(d time.Duration) string { return fmt.Sprintf("%.3f ms", float64(d.Nanoseconds())/1e6) }

func kernelRelease() string {
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "unknown kernel"
	}
	return strings.TrimSpace(string(release))
}
