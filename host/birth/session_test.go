//go:build linux && (amd64 || arm64)

package birth

import (
	"os"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
)

func terminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Skipf("needs a pseudo-terminal: %v", err)
	}
	t.Cleanup(func() { master.Close(); slave.Close() })
	return master, slave
}

func TestSameSession(t *testing.T) {
	sid, _ := unix.Getsid(0)
	s := observe(t, &Command{}, nil)
	if s.Session != sid || s.Group != unix.Getpgrp() {
		t.Errorf("session %d, group %d, want those of the caller, %d and %d", s.Session, s.Group, sid, unix.Getpgrp())
	}
}

func TestNewSession(t *testing.T) {
	s := observe(t, &Command{Setsid: true}, nil)
	if s.Session != s.Pid || s.Group != s.Pid || s.Foreground != 0 {
		t.Errorf("process %d, session %d, group %d, foreground %d", s.Pid, s.Session, s.Group, s.Foreground)
	}
}

func TestControllingTerminal(t *testing.T) {
	_, slave := terminal(t)
	for _, ns := range []core.Namespaces{0, core.NamespaceUser} {
		c := &Command{Setsid: true, ControllingTerminal: slave, Files: []*os.File{slave, nil, os.Stderr}}
		s := observe(t, c, &core.Birth{Namespaces: ns})
		if s.Session != s.Pid || s.Foreground != s.Pid {
			t.Errorf("process %d, session %d, foreground %d", s.Pid, s.Session, s.Foreground)
		}
	}
}

// TestControllingTerminalNeedNotBeAFile: the terminal is none of the command's files.
func TestControllingTerminalNeedNotBeAFile(t *testing.T) {
	_, slave := terminal(t)
	s := observe(t, &Command{Setsid: true, ControllingTerminal: slave}, nil)
	if s.Foreground != s.Pid {
		t.Errorf("process %d, foreground %d", s.Pid, s.Foreground)
	}
}

// TestTerminalIsNotStolen: root could take a terminal away from another session.
func TestTerminalIsNotStolen(t *testing.T) {
	master, slave := terminal(t)
	c := &Command{Path: "/bin/cat", Args: []string{"cat"}, Setsid: true, ControllingTerminal: slave,
		Files: []*os.File{slave, os.Stdout, os.Stderr}}
	holder, err := Start(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Start(c, nil)
	e, ok := err.(*Error)
	if !ok || e.Step != "controlling terminal" || e.Errno != unix.EPERM {
		t.Errorf("%v", err)
	}
	if _, err := master.Write([]byte{4}); err != nil { // end of file
		t.Error(err)
	}
	if _, err := holder.Wait(); err != nil {
		t.Error(err)
	}
}

func TestProcessGroup(t *testing.T) {
	sid, _ := unix.Getsid(0)
	s := observe(t, &Command{Setpgid: true}, nil)
	if s.Group != s.Pid || s.Session != sid {
		t.Errorf("process %d, group %d, session %d", s.Pid, s.Group, s.Session)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	leader, err := Start(&Command{Path: "/bin/cat", Args: []string{"cat"}, Setpgid: true, Files: []*os.File{r}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s := observe(t, &Command{Setpgid: true, Pgid: leader.Pid}, nil); s.Group != leader.Pid {
		t.Errorf("group %d, want %d", s.Group, leader.Pid)
	}
	w.Close()
	if _, err := leader.Wait(); err != nil {
		t.Error(err)
	}
}

// TestForeground runs a session of its own, whose leader starts two commands in
// the foreground of their terminal.
func TestForeground(t *testing.T) {
	_, slave := terminal(t)
	c := child("foreground")
	c.Setsid, c.ControllingTerminal, c.Files[0] = true, slave, slave
	if out, _ := output(t, c, nil); out != "ok\n" {
		t.Error(out)
	}
}

// foreground is the leader of TestForeground's session. From the second command
// on it is in the background itself, and SIGTTOU would stop a process that sets
// the foreground group from there.
func foreground([]string) {
	const script = `read -r _ _ _ _ group _ _ foreground _ < /proc/self/stat; test $group = $foreground`
	for range 2 {
		process, err := Start(&Command{
			Path: "/bin/sh", Args: []string{"sh", "-c", script},
			Files: []*os.File{nil, nil, os.Stderr}, Foreground: os.Stdin,
		}, nil)
		must(err)
		state, err := process.Wait()
		must(err)
		if !state.Success() {
			os.Stdout.WriteString("a command is not in the foreground\n")
			return
		}
	}
	os.Stdout.WriteString("ok\n")
}
