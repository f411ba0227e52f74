//go:build linux

// Bench times launches, sessions and kills, each beside a bare fork, exec and
// wait of the same program in the same run. What it prints for comparison are
// ratios; times depend on the machine and the hour.
//
//	make bench
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/host"
)

func main() {
	rounds := flag.Int("rounds", 300, "how often to repeat each launch")
	flag.Parse()
	if err := run(context.Background(), *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench is what the measurements share.
type bench struct {
	rounds  int
	dir     string // the workspace
	program string // the static program that is launched
	pinfold string // "" if there is none
	host    *host.Host
}

func run(ctx context.Context, rounds int) error {
	dir, err := os.MkdirTemp("", "pinfold-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program, what, err := makeProgram(dir)
	if err != nil {
		return err
	}
	pinfold := os.Getenv("PINFOLD")
	if pinfold == "" {
		pinfold, _ = exec.LookPath("pinfold")
	}
	h, err := host.New(host.Options{Embedded: pinfold})
	if err != nil {
		return err
	}
	defer h.Close()
	if err := h.Start(); err != nil {
		return err
	}
	b := &bench{rounds: rounds, dir: dir, program: program, pinfold: pinfold, host: h}
	fmt.Printf("%s/%s, %d CPUs, %s; launching %s\n"+
		"medians, and ratios to a bare fork+exec+wait of the same program in the same run\n\n",
		runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), kernelRelease(), what)
	for _, measure := range []func(context.Context) error{
		b.spawn, b.wholeSession, b.rules, b.concurrent, b.kill, b.cold, b.memory,
	} {
		if err := measure(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) policy() core.Policy { return core.WorkspaceWrite(b.dir) }

// launch runs the program once in a session.
func (b *bench) launch(s *host.Session) error { return s.Command(b.program).Run() }

// session is a whole life: open, plan, spawn, exit, kill, close.
func (b *bench) session(ctx context.Context, p core.Policy) error {
	s, err := b.host.Open(ctx, p)
	if err != nil {
		return err
	}
	err = b.launch(s)
	if _, closeErr := s.Close(ctx); err == nil {
		err = closeErr
	}
	return err
}

// spawn measures a launch within an open session.
func (b *bench) spawn(ctx context.Context) error {
	heading("(a) spawn within an open session")
	for _, preset := range core.Presets() {
		p, err := core.Preset(preset, b.dir)
		if err != nil {
			return err
		}
		s, err := b.host.Open(ctx, p)
		if err != nil {
			return err
		}
		if err := b.compare(preset, b.rounds, func() error { return b.launch(s) }); err != nil {
			return err
		}
		if _, err := s.Close(ctx); err != nil {
			return err
		}
	}
	return nil
}

// wholeSession measures open, plan, spawn, exit, kill and close together.
func (b *bench) wholeSession(ctx context.Context) error {
	heading("(b) a whole session")
	for _, preset := range core.Presets() {
		p, err := core.Preset(preset, b.dir)
		if err != nil {
			return err
		}
		if err := b.compare(preset, b.rounds, func() error { return b.session(ctx, p) }); err != nil {
			return err
		}
	}
	return nil
}

// rules measures whole sessions and launches by the number of path rules.
func (b *bench) rules(ctx context.Context) error {
	heading("(c) by number of path rules")
	for _, n := range []int{1, 10, 100, 1000} {
		p := b.policy()
		for i := range n {
			path := filepath.Join(b.dir, "granted", fmt.Sprint(i))
			if err := os.MkdirAll(path, 0o755); err != nil {
				return err
			}
			p.Filesystem.Rules = append(p.Filesystem.Rules, core.PathRule{Path: path, Access: core.Read, Origin: "bench"})
		}
		rounds := max(b.rounds*10/(n+10), 10)
		if err := b.compare(fmt.Sprintf("%d rules, session", n), rounds, func() error { return b.session(ctx, p) }); err != nil {
			return err
		}
		s, err := b.host.Open(ctx, p)
		if err != nil {
			return err
		}
		if err := b.compare(fmt.Sprintf("%d rules, spawn", n), rounds, func() error { return b.launch(s) }); err != nil {
			return err
		}
		if _, err := s.Close(ctx); err != nil {
			return err
		}
	}
	return nil
}
