package backend

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/internal/golden"
)

// compare compares text with a golden file, the paths of this machine replaced by
// names.
func compare(t *testing.T, name, text string, paths map[string]string) {
	t.Helper()
	for path, stand := range paths {
		text = strings.ReplaceAll(text, path, stand)
	}
	golden.Compare(t, name, text)
}

// program writes an executable file.
func program(t *testing.T, dir, name, text string, mode fs.FileMode) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// A person must see from the error why a backend does not start.
func TestProgramsThatAreNoBackend(t *testing.T) {
	dir := shortDir(t)
	path := func(name, text string) Program {
		return Program{Name: name, Path: program(t, dir, name, text, 0o755)}
	}
	cases := []struct {
		name    string
		program Program
	}{
		{"it exits at once", path("exits", "#!/bin/sh\nexit 0\n")},
		{"it exits with a status and a word", path("fails", "#!/bin/sh\necho 'no such luck' >&2\nexit 7\n")},
		{"it says more than is shown", path("talks", "#!/bin/sh\nfor i in 1 2 3 4 5 6; do echo line $i; done >&2\nexit 7\n")},
		{"it prints something else", path("prints", "#!/bin/sh\necho Hello; echo 'a|b|c'; printf 'no end'\n")},
		{"it speaks another version", path("old", "#!/bin/sh\necho '1|9|unix|/x|grpc'\nexec sleep 1000\n")},
		{"it speaks another protocol", path("rpc", "#!/bin/sh\necho '1|1|unix|/x|netrpc'\nexec sleep 1000\n")},
		{"it is of no known format", path("data", "\x00\x01\x02")},
		{"its interpreter is missing", path("script", "#!/no/such/interpreter\n")},
		{"it does not exist", Program{Name: "missing", Path: filepath.Join(dir, "missing")}},
		{"it complains in hclog's words", self(t, "fails-at-start")},
		{"it panics", self(t, "panics-at-start")},
		{"it says nothing", self(t, "silent")},
		{"it stops after the handshake", self(t, "stops-after-handshake")},
	}
	executable := self(t, "").Path
	var text strings.Builder
	for _, c := range cases {
		s := supervise(t, c.program)
		if strings.HasPrefix(c.name, "it says nothing") || strings.HasPrefix(c.name, "it stops") {
			s.limits.start = 2 * time.Second
		}
		_, err := s.Confiner().Describe(bounded(t))
		wantReason(t, err, core.ErrUnavailable)
		fmt.Fprintf(&text, "%s:\n\t%v\n", c.name, err)
		s.Close()
		if left, err := os.ReadDir(s.socketDir); err != nil || len(left) != 0 {
			t.Errorf("%s: left for sockets: %v, %v", c.name, left, err)
		}
	}
	compare(t, "start.txt", text.String(), map[string]string{dir: "DIR", executable: "TESTBINARY"})
}

// Whether that is a failed start or a call that was cut off is a race.
func TestDeathAfterTheHandshake(t *testing.T) {
	s := supervise(t, self(t, "dies-after-handshake"))
	_, err := s.Confiner().Describe(bounded(t))
	if wantReason(t, err, core.ErrUnavailable); !strings.Contains(err.Error(), "exit status 0") {
		t.Errorf("the error is %v", err)
	}
}

func TestMissingProgramIsErrNotExist(t *testing.T) {
	s := supervise(t, Program{Name: "missing", Path: filepath.Join(shortDir(t), "missing")})
	if err := s.Start(); !errors.Is(err, fs.ErrNotExist) || !errors.Is(err, core.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}

func TestSocketPathTooLong(t *testing.T) {
	dir := filepath.Join(shortDir(t), strings.Repeat("d", 80))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s := newSupervisor(self(t, ""), dir)
	defer s.Close()
	_, err := s.Confiner().Describe(bounded(t))
	e := wantReason(t, err, core.ErrUnavailable)
	if !strings.Contains(e.Error(), "longer than 103 bytes") || !strings.Contains(e.Error(), "TMPDIR") {
		t.Errorf("the error is %v", err)
	}
	// The longest that is let through works.
	room := maxSocketPath - socketNameRoom
	base := shortDir(t)
	long := filepath.Join(base, strings.Repeat("d", room-len(base)-1))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	fits := newSupervisor(self(t, ""), long)
	defer fits.Close()
	if _, err := fits.Confiner().Describe(bounded(t)); err != nil {
		t.Errorf("a directory of %d bytes: %v", len(long), err)
	}
}

// A caller does not wait for a start longer than it wants to.
func TestStartIsNotWaitedForTooLong(t *testing.T) {
	s := supervise(t, self(t, "silent"))
	s.limits.start = 300 * time.Millisecond
	ctx, cancel := context.WithCancel(bounded(t))
	cancel()
	if _, err := s.Confiner().Describe(ctx); err != context.Canceled {
		t.Errorf("got %v", err)
	}
	// The start goes on for whoever comes next.
	_, err := s.Confiner().Describe(bounded(t))
	wantReason(t, err, core.ErrUnavailable)
}

func TestCloseDuringStart(t *testing.T) {
	s := supervise(t, self(t, ""))
	result := make(chan error, 1)
	go func() { result <- s.Start() }()
	for started := false; !started; {
		s.mu.Lock()
		started = s.launch != nil || s.current != nil
		s.mu.Unlock()
	}
	s.Close()
	if err := <-result; err != nil {
		wantReason(t, err, core.ErrClosed)
	}
	if left, err := os.ReadDir(s.socketDir); err != nil || len(left) != 0 {
		t.Errorf("left for sockets: %v, %v", left, err)
	}
}
