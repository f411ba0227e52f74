package backend

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
)

func TestDeathInMidCallIsRepaired(t *testing.T) {
	s := supervise(t, self(t, ""))
	mark := filepath.Join(t.TempDir(), "mark")
	if _, err := s.Confiner().Plan(bounded(t), policy("die "+mark, 0)); err != nil {
		t.Fatal(err)
	}
	if s.Starts() != 2 {
		t.Errorf("%d starts, want 2", s.Starts())
	}
}

func TestDeathInEveryCall(t *testing.T) {
	for order, want := range map[string]string{
		"die":    `signal: killed`,
		"panic":  `exit status 2, after it said "panic: a defect of the backend"`,
		"mutter": `signal: killed, after it said "the end is near"`,
	} {
		t.Run(order, func(t *testing.T) {
			s := supervise(t, self(t, ""))
			_, err := s.Confiner().Plan(bounded(t), policy(order, 0))
			e := wantReason(t, err, core.ErrUnavailable)
			if s.Starts() != 2 || e.Stage != core.StagePlan || !strings.Contains(err.Error(), want) {
				t.Errorf("%d starts, want 2, and %v, want %q in it", s.Starts(), err, want)
			}
			if _, err := s.Confiner().Describe(bounded(t)); err != nil {
				t.Errorf("the next call: %v", err)
			}
		})
	}
}

func TestDeathBetweenCalls(t *testing.T) {
	s := supervise(t, self(t, ""))
	pid := backendPID(t, s)
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if next := backendPID(t, s); next == pid || s.Starts() != 2 {
		t.Errorf("process %d after %d, %d starts", next, pid, s.Starts())
	}
}

func TestDeathsAreTold(t *testing.T) {
	s := supervise(t, self(t, ""))
	if err := unix.Kill(backendPID(t, s), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.Deaths():
	case <-bounded(t).Done():
		t.Fatal("the death was not told")
	}
	backendPID(t, s)
	s.Close()
	select {
	case <-s.Deaths():
		t.Error("an orderly end was told as a death")
	default:
	}
}

func TestHang(t *testing.T) {
	s := supervise(t, self(t, ""))
	s.limits.kill = 100 * time.Millisecond
	pid := backendPID(t, s)
	process := pidfd(t, pid)
	for miss, data := range []string{"hang", "deadline"} {
		_, err := s.Tracker().Kill(bounded(t), handle(core.NewSessionID(), data))
		e := wantReason(t, err, core.ErrUnavailable)
		if !strings.Contains(err.Error(), "did not answer within 100ms") || e.Stage != core.StageKill {
			t.Errorf("the error is %v", err)
		}
		if miss == 0 && backendPID(t, s) != pid {
			t.Error("the first missed deadline replaced the process")
		}
		if miss == 0 { // an answer in between starts the count again
			s.Tracker().Kill(bounded(t), handle(core.NewSessionID(), data))
		}
	}
	waitForEnd(t, process)
	if backendPID(t, s) == pid || s.Starts() != 2 {
		t.Errorf("the process was not replaced, %d starts", s.Starts())
	}
}

// A caller's own deadline is no fault of the backend.
func TestCallersDeadline(t *testing.T) {
	s := supervise(t, self(t, ""))
	s.limits.end = time.Second // the backend waits for the calls that hang
	pid := backendPID(t, s)
	for range 3 {
		ctx, cancel := context.WithTimeout(bounded(t), 50*time.Millisecond)
		if _, err := s.Confiner().Plan(ctx, policy("hang", 0)); err != context.DeadlineExceeded {
			t.Errorf("got %v", err)
		}
		cancel()
	}
	if backendPID(t, s) != pid {
		t.Error("the process was replaced")
	}
}

// A descendant that holds the backend's outputs delays nothing.
func TestHeirOfTheOutputs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "heirs")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	heirs, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer heirs.Close()
	s := supervise(t, self(t, "", path))
	err = <-plan(t, s, "heir") // made twice, so there are two heirs
	if e := wantReason(t, err, core.ErrUnavailable); !strings.Contains(e.Detail, "signal: killed") {
		t.Error(err)
	}
	lines := bufio.NewScanner(heirs)
	for range 2 {
		lines.Scan()
		pid, err := strconv.Atoi(lines.Text())
		if err != nil {
			t.Fatal(err)
		}
		defer syscall.Kill(pid, syscall.SIGKILL)
		if comm, _ := os.ReadFile("/proc/" + lines.Text() + "/comm"); strings.TrimSpace(string(comm)) != "sleep" {
			t.Errorf("the heir %d is gone, so nothing was tested", pid)
		}
	}
	s.Close() // ends although the heirs hold the outputs
}

func TestManyCallsDuringACrash(t *testing.T) {
	s := supervise(t, self(t, ""))
	pid := backendPID(t, s)
	var calls sync.WaitGroup
	for i := range 64 {
		calls.Go(func() {
			for range 20 {
				if p, err := s.Confiner().Plan(bounded(t), policy("file", 0)); err != nil {
					t.Error(err)
				} else {
					p.Close()
				}
				if i == 0 {
					unix.Kill(pid, unix.SIGKILL)
				}
			}
		})
	}
	calls.Wait()
	if s.Starts() != 2 {
		t.Errorf("%d starts, want 2", s.Starts())
	}
}

// A host that sees its backend end abnormally again and again stays as it is.
func TestSoak(t *testing.T) {
	s := supervise(t, self(t, ""))
	failing := supervise(t, self(t, "dies-after-handshake"))
	cycle := func() {
		if _, err := s.Confiner().Plan(bounded(t), policy("die", 0)); core.ReasonOf(err) != core.ErrUnavailable {
			t.Fatal(err)
		}
		if _, err := failing.Confiner().Describe(bounded(t)); core.ReasonOf(err) != core.ErrUnavailable {
			t.Fatal(err)
		}
		s.running.Wait()
		failing.running.Wait()
	}
	for range 5 {
		cycle()
	}
	files, goroutines := census(t)
	for range 25 { // two processes each
		cycle()
	}
	wantCensus(t, files, goroutines)
	if dirs, err := os.ReadDir(s.socketDir); err != nil || len(dirs) != 0 {
		t.Errorf("left in the directory of the sockets: %v, %v", dirs, err)
	}
	t.Logf("%d processes, %d descriptors, %d goroutines", s.Starts(), files, goroutines)
}

// A backend dies after the host has connected and before its socket answers, and
// a descendant keeps the socket. By itself go-plugin waits for 20 seconds then.
func TestAbandonedSocketLeavesNothing(t *testing.T) {
	s := supervise(t, self(t, "abandons-its-socket"))
	cycle := func() {
		_, err := s.Confiner().Describe(bounded(t))
		wantReason(t, err, core.ErrUnavailable)
		if heir := regexp.MustCompile(`said "(\d+)"`).FindStringSubmatch(err.Error()); heir == nil {
			t.Errorf("no descendant: %v", err)
		} else if pid, err := strconv.Atoi(heir[1]); err == nil {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		s.running.Wait()
	}
	cycle()
	files, goroutines := census(t)
	for range 10 {
		cycle()
	}
	wantCensus(t, files, goroutines)
}

// wantCensus fails the test if there are more descriptors or goroutines than
// that. What is on its way out may still be there for a moment.
func wantCensus(t *testing.T, files, goroutines int) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; runtime.Gosched() {
		nowFiles, nowGoroutines := census(t)
		if nowFiles <= files && nowGoroutines <= goroutines {
			return
		}
		if time.Now().After(end) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d descriptors became %d, %d goroutines became %d:\n%s", files, nowFiles, goroutines, nowGoroutines,
				stacks[:runtime.Stack(stacks, true)])
		}
	}
}

func census(t *testing.T) (files, goroutines int) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries), runtime.NumGoroutine()
}
