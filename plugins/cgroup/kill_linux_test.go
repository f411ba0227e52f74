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
	// least is how many processes must have been seen by Kill.
	least int
}{
	{"sleep", false, 0},
	{"ignore", false, 0},
	{"setsid", true, 1},
	{"double-fork", true, 1},
	{"stopped", true, 1},
	{"hopper", true, 0}, // one look may miss every hop
	{"bomb", true, 100},
	{"zombies", false, 0},
	{"nested", false, 0},
	{"deep", false, 0},
	{"threaded", false, 0},
	{"freezer", false, 0},
}

// trackers are the ways of killing.
var trackers = []struct {
	name   string
	option Option
}{
	{"cgroup.kill", func(*Tracker) {}},
	{"one by one", withoutKillFile},
}

func TestKill(t *testing.T) {
	for _, way := range trackers {
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
					if members(t, tr, victim) == 0 && c.mode != "hopper" {
						t.Error("killing the process group was enough: this case proves nothing")
					}
					if populated(t, victim) != true {
						t.Error("killing the process group was enough: this case proves nothing")
					}
				}
				report, err := tr.Kill(context.Background(), victim.Handle)
				if err != nil {
					t.Fatal(err)
				}
				if report.Outcome != core.ProvedEmpty || len(report.Survivors) > 0 || report.Killed < c.least {
					t.Errorf("report = %+v", report)
				}
				p.Wait()
				p.wantAllGone(t)
				if n := members(t, tr, victim); n != 0 {
					t.Errorf("%d members after Kill", n)
				}
				other.wantAlive(t, "the process in another session")
				outside.wantAlive(t, "the process in no session")
				wantUsable(t, tr, victim)
			})
		}
	}
}

// wantUsable fails unless a process can be started in the session and ended.
// After a program froze its cgroup, a new one would never get to its execve.
func wantUsable(t *testing.T, tr *Tracker, o *core.Opened) {
	t.Helper()
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
	if _, err := os.Stat(string(o.Handle.Data)); !os.IsNotExist(err) {
		t.Errorf("the cgroup is still there (%v)", err)
	}
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
	text, err := os.ReadFile(filepath.Join(string(o.Handle.Data), "cgroup.events"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(text), "populated 1")
}
