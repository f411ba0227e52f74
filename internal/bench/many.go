//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/pinfold/pinfold/host"
)

// concurrent measures whole sessions side by side: the time of a batch divided
// by its size, beside the same number of bare launches side by side.
func (b *bench) concurrent(ctx context.Context) error {
	heading("(d) sessions at once, time for each")
	for n := 1; n <= 64; n *= 2 {
		batches := max(b.rounds/n/4, 5)
		var ours, bare []time.Duration
		for range batches {
			d, err := timed(func() error { return together(n, b.bare) })
			if err != nil {
				return err
			}
			bare = append(bare, d/time.Duration(n))
			if d, err = timed(func() error { return together(n, func() error { return b.session(ctx, b.policy()) }) }); err != nil {
				return err
			}
			ours = append(ours, d/time.Duration(n))
		}
		row(fmt.Sprintf("%d at once", n), median(ours), median(bare))
	}
	return nil
}

// together calls f n times at once and returns the first error.
func together(n int, f func() error) error {
	errs := make(chan error, n)
	var done sync.WaitGroup
	for range n {
		done.Go(func() { errs <- f() })
	}
	done.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// kill measures the time from Kill to the kernel's word that a session is empty,
// beside a loop of kill(2) and wait4(2) over as many children.
func (b *bench) kill(ctx context.Context) error {
	heading("(e) kill until empty; bare is kill(2) and wait4(2) of as many children")
	for _, n := range []int{10, 100, 1000} {
		var ours, bare []time.Duration
		for range 5 {
			d, err := b.killSession(ctx, n)
			if err != nil {
				return err
			}
			ours = append(ours, d)
			if d, err = killChildren(n); err != nil {
				return err
			}
			bare = append(bare, d)
		}
		row(fmt.Sprintf("%d processes", n), median(ours), median(bare))
	}
	return nil
}

func (b *bench) killSession(ctx context.Context, n int) (time.Duration, error) {
	s, err := b.host.Open(ctx, b.policy())
	if err != nil {
		return 0, err
	}
	defer s.Close(ctx)
	script := fmt.Sprintf("i=0; while [ $i -lt %d ]; do sleep 1000 & i=$((i+1)); done; echo ready; wait", n)
	c := s.Command("sh", "-c", script)
	out, err := c.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := c.Start(); err != nil {
		return 0, err
	}
	if _, err := out.Read(make([]byte, 16)); err != nil {
		return 0, err
	}
	d, err := timed(func() error {
		_, err := s.Kill(ctx)
		return err
	})
	c.Wait()
	return d, err
}

func killChildren(n int) (time.Duration, error) {
	var children []*exec.Cmd
	for range n {
		c := exec.Command("sleep", "1000")
		if err := c.Start(); err != nil {
			return 0, err
		}
		children = append(children, c)
	}
	return timed(func() error {
		for _, c := range children {
			if err := c.Process.Signal(syscall.SIGKILL); err != nil {
				return err
			}
		}
		for _, c := range children {
			c.Wait()
		}
		return nil
	})
}

// cold measures the command line tool from nothing, and its peers if they are
// installed.
func (b *bench) cold(context.Context) error {
	heading("(f) cold start of a tool that runs one confined command")
	tools := []struct {
		name string
		args []string
	}{
		{"pinfold", []string{b.pinfold, "run", "--quiet", "--workspace", b.dir, "--", b.program}},
		{"bwrap", []string{"bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", b.dir, b.dir,
			"--unshare-pid", "--unshare-net", "--unshare-ipc", "--die-with-parent", b.program}},
		{"landrun", []string{"landrun", "--rox", "/usr", "--rwx", b.dir, b.program}},
	}
	for _, tool := range tools {
		path, err := exec.LookPath(tool.args[0])
		if err != nil {
			fmt.Printf("  %-34s not installed\n", tool.name)
			continue
		}
		err = b.compare(tool.name, max(b.rounds/10, 10), func() error {
			c := exec.Command(path, tool.args[1:]...)
			c.Dir = b.dir
			if out, err := c.CombinedOutput(); err != nil {
				return fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// memory shows what a thousand open sessions cost the host and its backends.
func (b *bench) memory(ctx context.Context) error {
	heading("memory (RssAnon) before and with 1,000 open sessions")
	before := residents()
	var open []*host.Session
	defer func() {
		for _, s := range open {
			s.Close(ctx)
		}
	}()
	for range 1000 {
		s, err := b.host.Open(ctx, b.policy())
		if err != nil {
			return err
		}
		open = append(open, s)
	}
	runtime.GC()
	after := residents()
	for _, name := range []string{"host", "landlock", "cgroup"} {
		fmt.Printf("  %-34s %6d KiB  %6d KiB\n", name, before[name], after[name])
	}
	return nil
}

// residents returns the anonymous resident memory in KiB of this process and of
// the backends that it started, by name.
func residents() map[string]int {
	sizes := map[string]int{"host": rssAnon(os.Getpid())}
	children, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", os.Getpid()))
	for _, file := range children {
		list, _ := os.ReadFile(file)
		for _, field := range strings.Fields(string(list)) {
			pid, _ := strconv.Atoi(field)
			command, _ := os.ReadFile(filepath.Join("/proc", field, "cmdline"))
			args := strings.Split(strings.TrimRight(string(command), "\x00"), "\x00")
			name := strings.TrimPrefix(filepath.Base(args[len(args)-1]), "pinfold-")
			sizes[name] = rssAnon(pid)
		}
	}
	return sizes
}

func rssAnon(pid int) int {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			size, _ := strconv.Atoi(strings.Fields(value)[0])
			return size
		}
	}
	return 0
}
