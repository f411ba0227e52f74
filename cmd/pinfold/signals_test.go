//go:build linux

package main

import (
	"bufio"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// started is a pinfold run of a payload that is ready.
type started struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

// start runs a payload without a terminal, in a process session of its own.
func (p *place) start(payload string, flags ...string) *started {
	p.t.Helper()
	args := append([]string{"run", "-q", "--exec", self(p.t), "--env", "PF_PAYLOAD=" + payload}, flags...)
	cmd := p.command(append(args, "--", self(p.t))...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	s := &started{t: p.t, cmd: cmd, lines: bufio.NewScanner(stdout)}
	p.t.Cleanup(func() {
		if cmd.ProcessState == nil {
			cmd.Process.Signal(syscall.SIGTERM)
			cmd.Wait()
		}
	})
	s.expect("ready-42")
	return s
}

func (s *started) expect(line string) {
	s.t.Helper()
	if !s.lines.Scan() || s.lines.Text() != line {
		s.t.Fatalf("the command says %q, not %q", s.lines.Text(), line)
	}
}

func (s *started) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

func (s *started) status() int {
	s.cmd.Wait()
	return s.cmd.ProcessState.ExitCode()
}

// Signals sent to pinfold alone are the command's, which dies of them unless it
// wants otherwise, and pinfold reports how.
func TestSignalsArePassedOn(t *testing.T) {
	p := newPlace(t)
	for _, sig := range []syscall.Signal{
		syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
	} {
		t.Run(sig.String(), func(t *testing.T) {
			s := p.start("report signals")
			s.signal(sig)
			s.expect(sig.String())
			s.signal(syscall.SIGTERM)
			s.expect("terminated")
			s.signal(syscall.SIGTERM)
			if status := s.status(); status != 77 {
				t.Errorf("exit status %d, want the command's own 77", status)
			}
		})
	}
	// Of the others a Go program, which the payload is, does not die by the signal.
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT} {
		t.Run("die of "+sig.String(), func(t *testing.T) {
			s := p.start("loop")
			s.signal(sig)
			if status := s.status(); status != 128+int(sig) {
				t.Errorf("exit status %d, want %d", status, 128+int(sig))
			}
		})
	}
}

// Without a terminal, a stop and a continuation are passed on as well.
func TestStopWithoutTerminal(t *testing.T) {
	p := newPlace(t)
	s := p.start("loop")
	child := 0
	waitFor(t, "the command", func() bool {
		for _, pid := range processesWhere(func(stat []string) bool {
			return stat[1] == itoa(s.cmd.Process.Pid) && stat[3] == itoa(s.cmd.Process.Pid)
		}) {
			child = pid
		}
		return child != 0
	})
	// A group that nobody would continue is never stopped by SIGTSTP: setpgid(2).
	syscall.Kill(child, syscall.SIGSTOP)
	stopped := func() bool {
		return len(processesWhere(func(stat []string) bool { return stat[0] == "T" && stat[1] == itoa(s.cmd.Process.Pid) })) == 1
	}
	waitFor(t, "the command to be stopped", stopped)
	s.signal(syscall.SIGCONT)
	s.expect("continued-42")
	s.signal(syscall.SIGTERM)
	if status := s.status(); status != 143 {
		t.Errorf("exit status %d", status)
	}
}

// A command that nohup protects is protected inside as well.
func TestIgnoredSignalsStayIgnored(t *testing.T) {
	p := newPlace(t)
	cmd := p.command()
	cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", `trap "" HUP INT; exec "$0" run -q -- sh -c 'kill -HUP $$; kill -INT $$; exit 8'`, binary}
	if r := finish(t, cmd); r.status != 8 {
		t.Errorf("exit status %d, want 8: %s", r.status, r.stderr)
	}
	// The control: nobody ignores.
	if r := p.pinfold("run", "-q", "--", "sh", "-c", "kill -HUP $$; exit 8"); r.status != 129 {
		t.Errorf("exit status %d, want 129: %s", r.status, strings.TrimSpace(r.stderr))
	}
}
