//go:build linux

package main

import (
	"bytes"
	"crypto/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestBytesThroughPipes(t *testing.T) {
	p := newPlace(t)
	data := make([]byte, 16<<20)
	rand.Read(data)
	cmd := p.command("run", "-q", "--", "cat")
	cmd.Stdin = bytes.NewReader(data)
	if r := finish(t, cmd); r.status != 0 || r.stdout != string(data) {
		t.Errorf("status %d, %d bytes of %d, or others: %s", r.status, len(r.stdout), len(data), r.stderr)
	}
}

// The command has pinfold's own descriptors, with their flags and offset.
func TestStandardStreamsAreThoseOfPinfold(t *testing.T) {
	p := newPlace(t)
	path := filepath.Join(filepath.Dir(p.workspace), "file")
	if err := os.WriteFile(path, []byte("one\ntwo\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Seek(4, 0); err != nil {
		t.Fatal(err)
	}
	cmd := p.command("run", "-q", "--", "sh", "-c", "cat; readlink /proc/self/fd/0")
	cmd.Stdin = file
	if r := finish(t, cmd); r.stdout != "two\n"+path+"\n" {
		t.Errorf("read %q %s", r.stdout, r.stderr)
	}

	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		t.Fatal(err)
	}
	unix.Close(ends[1])
	pipe := os.NewFile(uintptr(ends[0]), "pipe")
	defer pipe.Close()
	cmd = p.command("run", "-q", "--", "sh", "-c", "grep flags /proc/self/fdinfo/0")
	cmd.Stdin = pipe
	if err := unix.SetNonblock(ends[0], true); err != nil {
		t.Fatal(err)
	}
	flags := func() int { f, _ := unix.FcntlInt(uintptr(ends[0]), unix.F_GETFL, 0); return f }
	r := finish(t, cmd)
	if flags()&unix.O_NONBLOCK == 0 && !strings.Contains(r.stdout, "04") {
		t.Skip("the test's own pipe lost O_NONBLOCK in os/exec")
	}
	if !strings.Contains(r.stdout, "04") {
		t.Errorf("the pipe's flags changed: %q", r.stdout)
	}
}

func TestOtherDescriptorsAreClosed(t *testing.T) {
	p := newPlace(t)
	secret := filepath.Join(filepath.Dir(p.workspace), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	inherit := func(args ...string) result {
		file, err := os.Open(secret)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		cmd := p.command(args...)
		cmd.ExtraFiles = []*os.File{file}
		return finish(t, cmd)
	}
	for _, preset := range []string{"workspace-write", "unrestricted"} {
		if r := inherit("run", "-q", "--preset", preset, "--", "sh", "-c", "cat <&3"); strings.Contains(r.stdout, "secret") {
			t.Errorf("%s: descriptor 3 of pinfold was inherited", preset)
		}
	}
	control := p.command()
	file, err := os.Open(secret)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	control.Path, control.Args, control.ExtraFiles = "/bin/sh", []string{"sh", "-c", "cat <&3"}, []*os.File{file}
	if r := finish(t, control); r.stdout != "secret" {
		t.Errorf("without pinfold the descriptor should have been inherited: %q", r.stdout)
	}
}

func TestEnvironment(t *testing.T) {
	p := newPlace(t)
	p.env = append(p.env, "API_TOKEN=hunter2", "PREFIX_ONE=1", "PREFIX_TWO=2", "PLUGIN_PROTOCOL_VERSIONS=x")
	variables := func(args ...string) []string {
		return strings.Split(p.pinfold(append(append([]string{"run", "-q"}, args...), "--", "env")...).stdout, "\n")
	}
	for _, test := range []struct {
		args      []string
		pair      string
		inherited bool
	}{
		{nil, "API_TOKEN=hunter2", false},
		{[]string{"--preset", "read-only"}, "API_TOKEN=hunter2", false},
		{[]string{"--preset", "unrestricted"}, "API_TOKEN=hunter2", true},
		{[]string{"--preset", "unrestricted"}, "PLUGIN_PROTOCOL_VERSIONS=x", false},
		{[]string{"--env", "API_TOKEN"}, "API_TOKEN=hunter2", true},
		{[]string{"--env", "API_TOKEN=other"}, "API_TOKEN=other", true},
		{[]string{"--env", "EMPTY="}, "EMPTY=", true},
		{[]string{"--env", "NOT_SET"}, "NOT_SET=", false},
		{[]string{"--env", "PREFIX_*"}, "PREFIX_TWO=2", true},
		{nil, "PWD=" + p.workspace, true},
	} {
		if got := slices.Contains(variables(test.args...), test.pair); got != test.inherited {
			t.Errorf("%q: %s is there: %v", test.args, test.pair, got)
		}
	}
}

func TestWorkingDirectory(t *testing.T) {
	p := newPlace(t)
	sub := filepath.Join(p.workspace, "sub")
	if err := os.Mkdir(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ from, workspace, want string }{
		{sub, ".", sub},
		{sub, p.workspace, sub},
		{p.temp, p.workspace, p.workspace},
	} {
		cmd := p.command("run", "-q", "--workspace", test.workspace, "--", "pwd", "-P")
		cmd.Dir = test.from
		cmd.Env = append(cmd.Env, "PWD="+test.from)
		if r := finish(t, cmd); strings.TrimSpace(r.stdout) != test.want {
			t.Errorf("from %s with --workspace %s it ran in %s %s", test.from, test.workspace, r.stdout, r.stderr)
		}
	}
}
