package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pinfold/pinfold/core"
)

func TestCloseWhileACommandRuns(t *testing.T) {
	h := sharedFor(t)
	s := open(t, h, core.WorkspaceWrite(t.TempDir()))
	waited, forgotten := s.Command("sleep", "1000"), s.Command("sleep", "1000")
	for _, cmd := range []*Cmd{waited, forgotten} {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan error, 1)
	go func() { done <- waited.Wait() }()
	report := mustClose(t, s)
	if err := <-done; err == nil || err.Error() != "signal: killed" {
		t.Errorf("Wait: %v", err)
	}
	for _, c := range report.Commands {
		if !c.Exited || c.Signal != "killed" || c.ExitCode != -1 {
			t.Errorf("the report says %+v", c)
		}
	}
	if report.Left.Killed != 2 || report.Closed.IsZero() {
		t.Errorf("the report says %+v", report)
	}
	// The forgotten one was reaped, and can be waited for all the same.
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", forgotten.Process.Pid)); err == nil {
		t.Error("a zombie is left")
	}
	if err := forgotten.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("Wait: %v", err)
	}
	if again := mustClose(t, s); again.Left.Killed != 2 || !again.Closed.Equal(report.Closed) {
		t.Errorf("the second Close: %+v", again)
	}
	if err := s.Command("true").Start(); !errors.Is(err, core.ErrClosed) {
		t.Errorf("a command after Close: %v", err)
	}
	if _, err := s.Processes(context.Background()); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("Processes after Close: %v", err)
	}
	if killed, err := s.Kill(context.Background()); err != nil || killed.Killed != 0 {
		t.Errorf("Kill after Close: %+v, %v", killed, err)
	}
	if exists(s.temp) {
		t.Error("the temporary directory is left")
	}
}

// Closing is a guarantee, also for a caller whose context has ended.
func TestCloseWithACancelledContext(t *testing.T) {
	s := open(t, sharedFor(t), core.WorkspaceWrite(t.TempDir()))
	cmd := s.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	report, err := s.Close(ctx)
	if err != nil || report.Left.Killed != 1 {
		t.Errorf("%+v, %v", report, err)
	}
}

func TestStartRacesWithClose(t *testing.T) {
	h := sharedFor(t)
	for range 20 {
		s := open(t, h, core.WorkspaceWrite(t.TempDir()))
		var starters sync.WaitGroup
		for range 8 {
			starters.Go(func() {
				for {
					cmd := s.Command("sleep", "1000")
					err := cmd.Start()
					if errors.Is(err, core.ErrClosed) {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
					go cmd.Wait()
				}
			})
		}
		report := mustClose(t, s)
		starters.Wait()
		for _, c := range report.Commands {
			if !c.Exited {
				t.Errorf("a command lived on: %+v", c)
			}
		}
	}
}

func TestManySessionsAtOnce(t *testing.T) {
	h := ownHost(t)
	ws := t.TempDir()
	var sessions sync.WaitGroup
	for i := range 64 {
		sessions.Go(func() {
			s, err := h.Open(context.Background(), core.WorkspaceWrite(ws))
			if err != nil {
				t.Error(err)
				return
			}
			name := fmt.Sprint("n", i)
			for range 3 {
				output, err := s.Command("sh", "-c", "sleep 1000 >/dev/null 2>&1 & echo "+name+" $TMPDIR").Output()
				if err != nil || string(output) != name+" "+s.temp+"\n" {
					t.Errorf("%q, %v", output, err)
				}
			}
			report, err := s.Close(context.Background())
			if err != nil || report.Left.Killed != 3 || len(report.Commands) != 3 {
				t.Errorf("%+v, %v", report, err)
			}
		})
	}
	sessions.Wait()
}

func TestManyCommandsAtOnceInOneSession(t *testing.T) {
	s := open(t, sharedFor(t), core.WorkspaceWrite(t.TempDir()))
	var commands sync.WaitGroup
	for i := range 50 {
		commands.Go(func() {
			cmd := s.Command("sh", "-c", "echo $NAME $HOME $PATH")
			cmd.Env = []string{fmt.Sprintf("NAME=%d", i), fmt.Sprintf("HOME=/home/%d", i)}
			output, err := cmd.Output()
			if want := fmt.Sprintf("%d /home/%d %s\n", i, i, os.Getenv("PATH")); err != nil || string(output) != want {
				t.Errorf("%q, %v", output, err)
			}
		})
	}
	commands.Wait()
}

func TestHostCloseEndsItsSessions(t *testing.T) {
	sharedFor(t)
	h, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for range 3 {
		s, err := h.Open(context.Background(), core.WorkspaceWrite(t.TempDir()))
		if err != nil {
			t.Fatal(err)
		}
		cmd := s.Command("sleep", "1000")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		pids = append(pids, cmd.Process.Pid)
	}
	for range 2 {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("%d lives on", pid)
		}
	}
	if _, err := h.Open(context.Background(), core.WorkspaceWrite(t.TempDir())); !errors.Is(err, core.ErrClosed) {
		t.Errorf("Open after Close: %v", err)
	}
}

func TestHostCloseRacesWithOpen(t *testing.T) {
	sharedFor(t)
	for range 4 {
		h, err := New(Options{})
		if err != nil {
			t.Fatal(err)
		}
		ws := t.TempDir()
		var openers sync.WaitGroup
		for range 8 {
			openers.Go(func() {
				for {
					s, err := h.Open(context.Background(), core.WorkspaceWrite(ws))
					if errors.Is(err, core.ErrClosed) {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
					s.Command("sleep", "1000").Start()
				}
			})
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		openers.Wait()
	}
}

// What fails between Open and the command's execution leaves the session as it
// was; what fails in Open leaves nothing.
func TestFailedLaunchesAndOpensLeaveNothing(t *testing.T) {
	h := ownHost(t)
	s := open(t, h, core.WorkspaceWrite(t.TempDir()))
	before := len(sessionCgroups())
	if before == 0 {
		t.Fatal("the session's cgroup is not found")
	}
	if err := s.Command("/no/such/program").Start(); err == nil {
		t.Fatal("it started")
	}
	if list := processes(t, s); len(list) != 0 {
		t.Errorf("left: %+v", list)
	}
	p := core.WorkspaceWrite(t.TempDir())
	p.Require = append(p.Require, core.FSMetadata)
	var unenforced *UnenforcedError
	if _, err := h.Open(context.Background(), p); !errors.As(err, &unenforced) || !errors.Is(err, core.ErrUnenforced) {
		t.Fatalf("a requirement that nobody can meet: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := h.Open(ctx, core.WorkspaceWrite(t.TempDir())); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled Open: %v", err)
	}
	if after := len(sessionCgroups()); after != before {
		t.Errorf("%d cgroups before, %d after", before, after)
	}
	temps, _ := filepath.Glob(filepath.Join(h.temp, "*-*-*-*-*"))
	for _, temp := range temps {
		if temp != s.temp && strings.Contains(temp, fmt.Sprintf("/%d-", os.Getpid())) {
			t.Errorf("%s is left", temp)
		}
	}
	p.BestEffort = true
	loose := open(t, h, p)
	if report := mustClose(t, loose); !report.BestEffort || len(report.Unenforced) != 1 || report.Unenforced[0].Dimension != core.FSMetadata {
		t.Errorf("best effort reports %+v", report.Unenforced)
	}
}

// Nothing accumulates. TestMain looks at descriptors, goroutines and the rest
// after all tests; this is to make a small leak a large one.
func TestManySessionsInARow(t *testing.T) {
	h := sharedFor(t)
	ws := t.TempDir()
	count := func() int { return len(descriptors()) }
	var before int
	for i := range 100 {
		s, err := h.Open(context.Background(), core.WorkspaceWrite(ws))
		if err != nil {
			t.Fatal(err)
		}
		if output, err := s.Command("echo", "x").Output(); err != nil || string(output) != "x\n" {
			t.Fatalf("%q, %v", output, err)
		}
		if _, err := s.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		if i == 10 {
			before = count()
		}
	}
	if after := count(); after > before {
		t.Errorf("%d descriptors after 10 sessions, %d after 100", before, after)
	}
}
