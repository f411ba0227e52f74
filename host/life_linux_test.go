package host

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pinfold/pinfold/core"
)

// What happens to sessions when processes of Pinfold are killed.

func init() { roles["as-host"] = asHost }

// A state is what a host application under test says of itself.
type state struct {
	Temp, Session    string
	Confiner         int
	Tracker, Command int

	said *bufio.Reader // what it says next
}

// asHost opens a session in a workspace, starts a command that lasts, and says so.
// It says too when its tracker was started again.
func asHost(args []string) {
	must := func(err error) {
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	h, err := New(Options{})
	must(err)
	s, err := h.Open(context.Background(), core.WorkspaceWrite(args[0]))
	must(err)
	cmd := s.Command("sh", "-c", "setsid sleep 1000 & exec sleep 1000")
	must(cmd.Start())
	// The sweep is over before others kill what it would need.
	h.work.Wait()
	json.NewEncoder(os.Stdout).Encode(state{
		Temp: s.temp, Session: s.id.String(), Command: cmd.Process.Pid,
		Confiner: backendNamed("pinfold-landlock"), Tracker: backendNamed("pinfold-cgroup"),
	})
	for len(h.incidentsBetween(s.report.Opened, time.Time{})) == 0 {
		time.Sleep(time.Millisecond)
	}
	fmt.Println("the tracker was started again")
	select {} // until it is killed
}

// backendNamed returns the pid of this process's child with that program.
func backendNamed(name string) int {
	for _, child := range childrenOf(os.Getpid()) {
		if path, err := os.Readlink("/proc/" + child + "/exe"); err == nil && filepath.Base(path) == name {
			pid, _ := strconv.Atoi(child)
			return pid
		}
	}
	return 0
}

// startHost starts a host application.
func startHost(t *testing.T) (*exec.Cmd, state) {
	t.Helper()
	sharedFor(t)
	cmd := exec.Command(self(), "as-host", t.TempDir())
	cmd.Stderr = os.Stderr
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if _, err := sharedFor(t).Sweep(context.Background()); err != nil {
			t.Error(err)
		}
	})
	s := state{said: bufio.NewReader(output)}
	line, err := s.said.ReadString('\n')
	if err := json.Unmarshal([]byte(line), &s); err != nil {
		t.Fatalf("the host said %q, %v", line, err)
	}
	if err != nil || s.Tracker == 0 || s.Confiner == 0 || !alive(s.Command) {
		t.Fatalf("the host's state is %+v, %v", s, err)
	}
	return cmd, s
}

// alive reports whether there is a process with the pid that is no zombie. The
// tests ask soon enough for no other to have it.
func alive(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(text), ") ")
	return !strings.HasPrefix(after, "Z") && !strings.HasPrefix(after, "X")
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// listed reports whether the tracker knows the session.
func listed(t *testing.T, session string) bool {
	t.Helper()
	sessions, err := sharedFor(t).Tracker().Sessions(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sessions {
		if s.Handle.Session.String() == session {
			return true
		}
	}
	return false
}

func TestKilledHost(t *testing.T) {
	cmd, s := startHost(t)
	cmd.Process.Kill()
	cmd.Wait()
	eventually(t, "the session's processes die", func() bool { return !alive(s.Command) && !listed(t, s.Session) })
	eventually(t, "the backends end", func() bool { return !alive(s.Tracker) && !alive(s.Confiner) })
	if _, err := sharedFor(t).Sweep(context.Background()); err != nil {
		t.Error(err)
	}
	if exists(s.Temp) {
		t.Error("the next host's sweep left the temporary directory")
	}
}

func TestHostAndTrackerKilledAtOnce(t *testing.T) {
	// Any other host of this user may sweep first, those of other tests too.
	for range 10 {
		if sweptByUs(t) {
			return
		}
	}
	t.Error("the session was gone before the sweep, each time")
}

// sweptByUs kills a host and its tracker and sweeps. It reports false if the
// session was gone before.
func sweptByUs(t *testing.T) bool {
	t.Helper()
	cmd, s := startHost(t)
	// Stopped, the host cannot start another tracker.
	cmd.Process.Signal(syscall.SIGSTOP)
	syscall.Kill(s.Tracker, syscall.SIGKILL)
	cmd.Process.Kill()
	cmd.Wait()
	lived := alive(s.Command)
	// Neither could remove the tracker's socket. A sweep looks into directories
	// that are not new.
	ageSockets(t)
	report, err := sharedFor(t).Sweep(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	// The confiner ends by itself; the living host keeps its two.
	eventually(t, "the dead host's sockets are removed", func() bool { return len(socketDirs()) == 2 })
	eventually(t, "all is swept", func() bool { return !alive(s.Command) && !listed(t, s.Session) && !exists(s.Temp) })
	for _, closed := range report.Closed {
		if closed.Handle.Session.String() == s.Session {
			if !lived || closed.Processes != 2 || closed.OwnerAlive || report.Killed < 2 {
				t.Errorf("the sweep reports %+v", report)
			}
			return true
		}
	}
	return false
}

func socketDirs() []string {
	dirs, _ := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "pinfold-*", "plugin-dir*"))
	return dirs
}

func ageSockets(t *testing.T) {
	t.Helper()
	old := time.Now().Add(-2 * abandonedAfter)
	for _, dir := range socketDirs() {
		// A backend that is on its way out removes its own.
		if err := os.Chtimes(dir, old, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
}

// The sweep of another host does nothing to the sessions of one that lives.
func TestSweepSparesTheLiving(t *testing.T) {
	_, s := startHost(t)
	if _, err := sharedFor(t).Sweep(context.Background()); err != nil {
		t.Fatal(err)
	}
	if !alive(s.Command) || !listed(t, s.Session) || !exists(s.Temp) {
		t.Error("the sweep took something")
	}
}

// A tracker that dies is started again while the session is idle, so that it ends
// the session if the host is killed next.
func TestTrackerKilledAndThenTheHost(t *testing.T) {
	cmd, s := startHost(t)
	syscall.Kill(s.Tracker, syscall.SIGKILL)
	if line, err := s.said.ReadString('\n'); err != nil || line != "the tracker was started again\n" {
		t.Fatalf("the host said %q, %v", line, err)
	}
	if !alive(s.Command) {
		t.Fatal("the session ended with its tracker")
	}
	cmd.Process.Kill()
	cmd.Wait()
	eventually(t, "the session's processes die", func() bool { return !alive(s.Command) && !listed(t, s.Session) })
	if _, err := sharedFor(t).Sweep(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestBackendsKilledInMidSession(t *testing.T) {
	ctx := context.Background()
	for _, names := range [][]string{{"pinfold-cgroup"}, {"pinfold-landlock"}, {"pinfold-cgroup", "pinfold-landlock"}} {
		t.Run(strings.Join(names, "+"), func(t *testing.T) {
			h := ownHost(t)
			s := open(t, h, core.WorkspaceWrite(t.TempDir()))
			cmd := s.Command("sleep", "1000")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			h.work.Wait() // the sweep
			for _, name := range names {
				p := h.trackerProcess
				if name == "pinfold-landlock" {
					p = h.confinerProcess
				}
				syscall.Kill(ownBackend(t, p), syscall.SIGKILL)
			}
			if list, err := s.Processes(ctx); err != nil || len(list) != 1 {
				t.Errorf("processes: %+v, %v", list, err)
			}
			if output, err := s.Command("echo", "more").Output(); string(output) != "more\n" {
				t.Errorf("another command: %q, %v", output, err)
			}
			other := open(t, h, core.WorkspaceWrite(t.TempDir()))
			if output, err := other.Command("echo", "more").Output(); string(output) != "more\n" {
				t.Errorf("another session: %q, %v", output, err)
			}
			if killed, err := s.Kill(ctx); err != nil || killed.Killed != 1 {
				t.Errorf("kill: %+v, %v", killed, err)
			}
			report, err := s.Close(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if wants := names[0] == "pinfold-cgroup"; wants != (len(report.Incidents) > 0) {
				t.Errorf("the report's incidents are %+v", report.Incidents)
			}
		})
	}
}

// ownBackend returns the pid of a backend of one of this process's hosts, which
// only its log or the order of starts tells: the youngest child with its program.
func ownBackend(t *testing.T, p process) int {
	t.Helper()
	var youngest int
	for _, child := range childrenOf(os.Getpid()) {
		pid, _ := strconv.Atoi(child)
		if path, err := os.Readlink("/proc/" + child + "/exe"); err == nil && path == p.Program().Path && pid > youngest {
			youngest = pid
		}
	}
	if youngest == 0 {
		t.Fatal("the backend does not run")
	}
	return youngest
}
