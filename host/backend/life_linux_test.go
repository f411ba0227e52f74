package backend

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
)

// fifo makes one, and returns its path and a channel of the first word in it.
func fifo(t testing.TB) (string, <-chan string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	// Open for both, so that it neither blocks nor ends.
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	words := make(chan string, 1)
	go func() {
		buffer := make([]byte, 100)
		n, _ := f.Read(buffer)
		words <- strings.TrimSpace(string(buffer[:n]))
	}()
	return path, words
}

func receive(t testing.TB, words <-chan string) string {
	t.Helper()
	select {
	case word := <-words:
		return word
	case <-bounded(t).Done():
		t.Fatal("nothing was reported")
		return ""
	}
}

func wantGone(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is still there: %v", path, err)
	}
}

func wantReason(t testing.TB, err error, reason core.Reason) *core.Error {
	t.Helper()
	var e *core.Error
	if !errors.As(err, &e) || e.Reason != reason {
		t.Fatalf("got error %v, want one of reason %q", err, string(reason))
	}
	return e
}

// A backend ends with its host, does what it has to do then although nobody
// reads its log, and leaves no socket.
func TestHostKilled(t *testing.T) {
	mark, words := fifo(t)
	dir := shortDir(t)
	host := startHost(t, dir, "marks", mark)
	pid, err := strconv.Atoi(host.facts["pid"])
	if err != nil {
		t.Fatalf("the host said %v", host.facts)
	}
	process := pidfd(t, pid)
	if sockets, _ := filepath.Glob(filepath.Join(host.facts["sockets"], "*")); len(sockets) != 1 {
		t.Fatalf("in the directory of the socket is %v", sockets)
	}
	host.kill()
	// Confiner and tracker of the script are two, and each reports.
	if word := receive(t, words); strings.Fields(word)[0] != "gone" {
		t.Errorf("HostGone reported %q", word)
	}
	waitForEnd(t, process)
	wantGone(t, host.facts["sockets"])
}

func TestProcessIsSetApart(t *testing.T) {
	t.Setenv("PINFOLD_TEST_SECRET", "hunter2")
	s := supervise(t, self(t, ""))
	f := facts(t, s)
	if f["session"] != f["pid"] {
		t.Errorf("process %s is in the session of %s", f["pid"], f["session"])
	}
	if f["input"] != "" {
		t.Errorf("the backend could read %q", f["input"])
	}
	if strings.Contains(f["environment"], "hunter2") || strings.Contains(f["environment"], "PINFOLD_TEST_SECRET") {
		t.Errorf("the host's environment reached the backend:\n%s", f["environment"])
	}
	// The control: what is meant to reach it does.
	if !strings.Contains(f["environment"], "PATH="+os.Getenv("PATH")) {
		t.Errorf("PATH did not reach the backend:\n%s", f["environment"])
	}
}

func TestOutputBeforeServeIsNoHandshake(t *testing.T) {
	s := supervise(t, self(t, "chatty"))
	if _, err := s.Confiner().Describe(bounded(t)); err != nil {
		t.Fatal(err)
	}
}

// plan calls Plan in a goroutine.
func plan(t testing.TB, s *Supervisor, name string) <-chan error {
	ctx, result := bounded(t), make(chan error, 1)
	go func() {
		p, err := s.Confiner().Plan(ctx, policy(name, 0))
		p.Close()
		result <- err
	}()
	return result
}

func TestCloseLetsCallsFinish(t *testing.T) {
	s := supervise(t, self(t, ""))
	sockets := facts(t, s)["sockets"]
	process := pidfd(t, backendPID(t, s))
	path, words := fifo(t)
	result := plan(t, s, "slow "+path+" begun")
	if word := receive(t, words); word != "begun" {
		t.Fatal(word)
	}
	s.Close()
	if err := <-result; err != nil {
		t.Errorf("the call in flight: %v", err)
	}
	waitForEnd(t, process)
	wantGone(t, sockets)
	_, err := s.Confiner().Describe(context.Background())
	wantReason(t, err, core.ErrClosed)
	wantReason(t, s.Start(), core.ErrClosed)
	s.Close()
	if s.Starts() != 1 {
		t.Errorf("%d starts", s.Starts())
	}
}

// Whoever else ends the backend in order does not cut the call in flight.
func TestTerminatedLetsCallsFinish(t *testing.T) {
	s := supervise(t, self(t, ""))
	pid := backendPID(t, s)
	path, words := fifo(t)
	result := plan(t, s, "slow "+path+" begun")
	receive(t, words)
	if err := unix.Kill(pid, unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-result; err != nil {
		t.Errorf("the call in flight: %v", err)
	}
	// The next call gets a new process.
	if next := backendPID(t, s); next == pid || s.Starts() != 2 {
		t.Errorf("process %d after %d, %d starts", next, pid, s.Starts())
	}
}

func TestCancelledCallsLeaveTheProcess(t *testing.T) {
	s := supervise(t, self(t, ""))
	ctx, cancel := context.WithCancel(bounded(t))
	pid := backendPID(t, s)
	result := make(chan error, 1)
	go func() {
		_, err := s.Confiner().Plan(ctx, policy("wait", 0))
		result <- err
	}()
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if after := backendPID(t, s); after != pid {
		t.Errorf("process %d became %d", pid, after)
	}
}
