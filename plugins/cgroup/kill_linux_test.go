package cgroup

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pinfold/pinfold/core"
)

// hostileCases are programs that try to outlive the end of their session.
var hostileCases = []struct {
	mode string
	// escapes: killing the process group leaves some of it alive. That is the
	// control: without it the case would prove nothing.
	escapes bool
	// least is how many processes are seen at least before they are killed. One
	// look may miss every hop of a hopper.
	least int
}{
	{"sleep", false, 1},
	{"ignore", false, 1},
	{"setsid", true, 1},
	{"double-fork", true, 1},
	{"stopped", true, 1},
	{"hopper", true, 0},
	{"bomb", true, 2},
	{"zombies", false, 1},
	{"nested", false, 1},
	{"deep", false, 1},
	{"threaded", false, 1},
	{"freezer", false, 1},
}

// ends are the ways to end a session.
var ends = []struct {
	name   string
	option Option
	end    func(*Tracker, context.Context, core.Handle) (*core.KillReport, error)
}{
	{"Kill", func(*Tracker) {}, (*Tracker).Kill},
	{"Close", func(*Tracker) {}, (*Tracker).Close},
	{"Close before Linux 5.14", withoutKillFile, (*Tracker).Close},
}

func TestHostilePrograms(t *testing.T) {
	for _, way := range ends {
		for _, c := range hostileCases {
			t.Run(way.name+"/"+c.mode, func(t *testing.T) {
				tr := tracker(t, way.option)
				victim, bystander := open(t, tr), open(t, tr)
				// Positive controls: the same kind of process in another session,
				// and in none.
				other := start(t, bystander, "sleep")
				outside := start(t, nil, "sleep")

				p := start(t, victim, c.mode, string(victim.Handle.Data))
				if c.escapes {
					killGroup(t, p)
					if !populated(t, victim) {
						t.Error("killing the process group was enough: this case proves nothing")
					}
				}
				if c.mode == "freezer" {
					until(t, "the cgroup is frozen", func() bool { return strings.Contains(events(t, victim), "frozen 1") })
				}
				report, err := way.end(tr, context.Background(), victim.Handle)
				if err != nil {
					t.Fatal(err)
				}
				if report.Outcome != core.ProvedEmpty || len(report.Survivors) > 0 || report.Killed < c.least {
					t.Errorf("report = %+v", report)
				}
				p.Wait()
				p.wantAllGone(t)
				other.wantAlive(t, "the process in another session")
				outside.wantAlive(t, "the process in no session")
				if way.name == "Kill" {
					wantUsable(t, tr, victim)
				}
				if _, err := os.Stat(string(victim.Handle.Data)); !os.IsNotExist(err) {
					t.Errorf("the cgroup is still there (%v)", err)
				}
			})
		}
	}
}

// wantUsable fails unless a process can be started in the session and ended.
// After a program froze its cgroup, a new one would never get to its execve.
func wantUsable(t *testing.T, tr *Tracker, o *core.Opened) {
	t.Helper()
	if n := members(t, tr, o); n != 0 {
		t.Errorf("%d members after Kill", n)
	}
	p := start(t, o, "sleep")
	if err := tr.Verify(context.Background(), o.Handle, p.Process.Pid); err != nil {
		t.Error(err)
	}
	report, err := tr.Close(context.Background(), o.Handle)
	if err != nil || report.Outcome != core.ProvedEmpty || report.Killed != 1 {
		t.Errorf("Close = %+v, %v", report, err)
	}
	p.Wait()
	p.wantAllGone(t)
}

// killGroup does what a tracker without cgroups would.
func killGroup(t *testing.T, p *program) {
	t.Helper()
	if err := syscall.Kill(-p.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.Wait()
}

func members(t *testing.T, tr *Tracker, o *core.Opened) int {
	t.Helper()
	all, err := tr.List(context.Background(), o.Handle)
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

func populated(t *testing.T, o *core.Opened) bool {
	t.Helper()
	return strings.Contains(events(t, o), "populated 1")
}

func events(t *testing.T, o *core.Opened) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(string(o.Handle.Data), "cgroup.events"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
