package cgroup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/core/owner"
)

// These tests run against the kernel of this machine. They start hostile
// programs by executing the test binary again, and every process and cgroup that
// they make is gone at the end, which TestMain checks.

// modeKey is the variable that makes the test binary a hostile program.
const modeKey = "PINFOLD_CGROUP_TEST_MODE"

// watchdog is when a test that waits for a process is given up.
const watchdog = 60 * time.Second

func TestMain(m *testing.M) {
	if mode := os.Getenv(modeKey); mode != "" {
		hostile(mode, os.Args[1:])
		os.Exit(3)
	}
	status := m.Run()
	if left := leftovers(); len(left) > 0 {
		fmt.Fprintf(os.Stderr, "cgroups left behind:\n%s\n", strings.Join(left, "\n"))
		status = 1
	}
	os.Exit(status)
}

// opened has every session that a test made, to find what it left.
var opened = struct {
	sync.Mutex
	ids map[core.SessionID]bool
}{ids: map[core.SessionID]bool{}}

func leftovers() []string {
	all, err := New().find(context.Background(), core.StageList)
	if err != nil {
		return nil
	}
	var paths []string
	for _, f := range all {
		if opened.ids[f.name.session] || f.name.owner.PID == os.Getpid() {
			paths = append(paths, f.path)
		}
	}
	return paths
}

func newSession() core.SessionID {
	id := core.NewSessionID()
	opened.Lock()
	defer opened.Unlock()
	opened.ids[id] = true
	return id
}

// tracker returns a tracker, or skips the test where sessions cannot be made.
func tracker(t testing.TB, options ...Option) *Tracker {
	t.Helper()
	// An emulated machine takes seconds to end a fork bomb.
	tr := New(append([]Option{KillTimeout(watchdog)}, options...)...)
	probeOnce.Do(func() {
		c, err := tr.Probe(context.Background())
		if err != nil {
			probeGap = err.Error()
		} else if f := c.Findings[0]; f.Level != core.Enforced {
			probeGap = f.Gap
		} else if own, _ := cgroupOf(os.Getpid()); f.Mechanism == scopeMechanism && os.Getenv(moveKey) == "" {
			probeGap = "sessions take a scope in " + own + ": see TestEverythingInScope"
		}
	})
	if probeGap != "" {
		t.Skip(probeGap)
	}
	return tr
}

var (
	probeOnce sync.Once
	probeGap  string
)

// withoutKillFile makes a tracker that kills as on a kernel before 5.14.
func withoutKillFile(t *Tracker) { t.killName = "cgroup.no-such-file" }

func request(t testing.TB) *core.OpenRequest {
	t.Helper()
	self, err := owner.Self()
	if err != nil {
		t.Fatal(err)
	}
	return &core.OpenRequest{Session: newSession(), Owner: self, MoveOwner: os.Getenv(moveKey) != ""}
}

// open opens a session, which is closed at the end of the test.
func open(t testing.TB, tr *Tracker) *core.Opened {
	t.Helper()
	o, err := tr.Open(context.Background(), request(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		o.Birth.Close()
		if _, err := tr.Close(context.Background(), o.Handle); err != nil {
			t.Errorf("closing the session: %v", err)
		}
	})
	return o
}

// A program is a process that the test started, in a process group of its own.
type program struct {
	*exec.Cmd
	out  *bufio.Reader
	pipe *os.File // stdout, which every descendant inherits
}

// start starts the test binary in a hostile mode, in a session or (with nil)
// outside of any, and returns when it says that it is ready.
func start(t testing.TB, o *core.Opened, mode string, args ...string) *program {
	t.Helper()
	cmd := hostileCommand(mode, args...)
	if o != nil {
		cmd.SysProcAttr.UseCgroupFD = true
		cmd.SysProcAttr.CgroupFD = int(o.Birth.Cgroup.Fd())
	}
	return startCommand(t, cmd)
}

func hostileCommand(mode string, args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), modeKey+"="+mode, "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

func startCommand(t testing.TB, cmd *exec.Cmd) *program {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = write
	if err := cmd.Start(); errors.Is(err, syscall.EPERM) {
		t.Skipf("starting a process with another user or namespace: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	write.Close()
	p := &program{Cmd: cmd, out: bufio.NewReader(read), pipe: read}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		read.Close()
	})
	read.SetReadDeadline(time.Now().Add(watchdog))
	if line := p.line(t); line != "ready" {
		t.Fatalf("the program said %q", line)
	}
	return p
}

func (p *program) line(t testing.TB) string {
	t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		t.Fatalf("waiting for the program: %v", err)
	}
	return strings.TrimSuffix(line, "\n")
}

// wantAllGone fails unless every process that inherited the program's standard
// output has ended. It does not depend on cgroups.
func (p *program) wantAllGone(t testing.TB) {
	t.Helper()
	p.pipe.SetReadDeadline(time.Now().Add(watchdog))
	buffer := make([]byte, 4096)
	for {
		if _, err := p.out.Read(buffer); err != nil {
			if err.Error() != "EOF" {
				t.Errorf("a process still holds the pipe: %v", err)
			}
			return
		}
	}
}

func (p *program) wantAlive(t testing.TB, who string) {
	t.Helper()
	o, err := owner.Of(p.Process.Pid)
	if err != nil {
		t.Errorf("%s is dead: %v", who, err)
		return
	}
	if alive, err := owner.Alive(o); err != nil || !alive {
		t.Errorf("%s is dead (%v)", who, err)
	}
}

// until waits for a condition that the kernel brings about by itself.
func until(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(watchdog); !condition(); {
		if time.Now().After(end) {
			t.Fatalf("gave up waiting: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}
