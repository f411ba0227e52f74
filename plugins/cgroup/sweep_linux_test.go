package cgroup

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"syscall"
	"testing"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/core/owner"
)

// killedHost starts a host that opens two sessions with a process each, the
// second to outlive it, kills it without warning, and returns the sessions.
func killedHost(t *testing.T) (mortal, detached core.Handle) {
	t.Helper()
	ids := []core.SessionID{newSession(), newSession()}
	p := start(t, nil, "host", ids[0].String(), ids[1].String())
	for _, h := range []*core.Handle{&mortal, &detached} {
		if err := json.Unmarshal([]byte(p.line(t)), h); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { New().Close(ctx, *h) })
	}
	p.Process.Kill()
	p.Wait()
	return mortal, detached
}

func find(t *testing.T, tr *Tracker, h core.Handle) *core.SessionStatus {
	t.Helper()
	all, err := tr.Sessions(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		if equal(all[i].Handle, h) {
			return &all[i]
		}
	}
	return nil
}

func TestSweepClosesWhatDeadOwnersLeft(t *testing.T) {
	tr := tracker(t)
	live := open(t, tr)
	start(t, live, "sleep")
	mortal, detached := killedHost(t)

	for _, c := range []struct {
		what              string
		handle            core.Handle
		alive, isDetached bool
		processes         int
	}{
		{"of the live owner", live.Handle, true, false, 1},
		{"of the dead owner", mortal, false, false, 1},
		{"that outlives its owner", detached, false, true, 1},
	} {
		s := find(t, tr, c.handle)
		if s == nil || s.OwnerAlive != c.alive || s.Detached != c.isDetached || s.Processes != c.processes {
			t.Errorf("the session %s: %+v", c.what, s)
		}
	}

	report, err := New().Sweep(ctx) // a process that has never seen them
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(report.Closed, func(s core.SessionStatus) bool { return equal(s.Handle, mortal) && s.Processes == 1 }) || report.Killed < 1 {
		t.Errorf("report = %+v", report)
	}
	if s := find(t, tr, mortal); s != nil {
		t.Errorf("the session of the dead owner is still there: %+v", s)
	}
	if s := find(t, tr, detached); s == nil || s.Processes != 1 {
		t.Errorf("the session that outlives its owner: %+v", s)
	}
	if s := find(t, tr, live.Handle); s == nil || s.Processes != 1 {
		t.Errorf("the session of the live owner: %+v", s)
	}
	if report, err := tr.Close(ctx, detached); err != nil || report.Killed != 1 {
		t.Errorf("Close = %+v, %v", report, err)
	}
}

// From another PID or time namespace, an owner's pid and start time mean nothing.
func TestSweepLeavesOwnersThatItCannotJudge(t *testing.T) {
	for what, change := range map[string]func(*view){
		"PID namespace":  func(v *view) { v.pidNS++ },
		"time namespace": func(v *view) { v.timeNS++ },
	} {
		t.Run(what, func(t *testing.T) {
			stranger := tracker(t)
			change(&stranger.view)
			mortal, _ := killedHost(t)
			ours := func(f found) bool { return f.name.session == mortal.Session }
			report, err := stranger.sweep(ctx, func(f found) bool { return ours(f) && stranger.ownerIsDead(f.name) })
			if err != nil || len(report.Closed)+len(report.Failed) > 0 {
				t.Errorf("report = %+v, %v", report, err)
			}
			if s := find(t, stranger, mortal); s == nil || !s.OwnerAlive || s.Processes != 1 {
				t.Errorf("the session: %+v", s)
			}
			// Control: from its own namespaces it is swept.
			tr := New()
			report, err = tr.sweep(ctx, func(f found) bool { return ours(f) && tr.ownerIsDead(f.name) })
			if err != nil || len(report.Closed) != 1 {
				t.Errorf("control: report = %+v, %v", report, err)
			}
		})
	}
}

func TestHostGone(t *testing.T) {
	tr := tracker(t)
	one, two := open(t, tr), open(t, tr)
	p := start(t, one, "double-fork")
	req := request(t)
	req.Detached = true
	detached, err := tr.Open(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close(ctx, detached.Handle)
	defer detached.Birth.Close()
	survivor := start(t, detached, "sleep")
	_, ofAnother := killedHost(t)

	if err := tr.HostGone(ctx); err != nil {
		t.Fatal(err)
	}
	p.Wait()
	p.wantAllGone(t)
	for _, o := range []*core.Opened{one, two} {
		if s := find(t, tr, o.Handle); s != nil {
			t.Errorf("still there: %+v", s)
		}
	}
	survivor.wantAlive(t, "the process that outlives its owner")
	if s := find(t, tr, ofAnother); s == nil || s.Processes != 1 {
		t.Errorf("the session of another host: %+v", s)
	}
	if o, err := tr.Open(ctx, request(t)); !errors.Is(err, core.ErrClosed) {
		t.Errorf("Open after HostGone = %+v, %v", o, err)
	}
}

// A tracker that was started anew never saw its host open a session.
func TestHostGoneAfterRestart(t *testing.T) {
	tr := tracker(t)
	o := open(t, tr)
	p := start(t, o, "double-fork")
	start(t, nil, "host-gone") // a tracker whose host is this process
	p.Wait()
	p.wantAllGone(t)
	if s := find(t, tr, o.Handle); s != nil {
		t.Errorf("still there: %+v", s)
	}
}

// A payload that nobody confines can move its host or tracker into its session,
// to be spared with them. They are, and nobody else is.
func TestTrackerInsideItsSession(t *testing.T) {
	tracker(t)
	id := newSession()
	p := start(t, nil, "inside", id.String())
	var h core.Handle
	if err := json.Unmarshal([]byte(p.line(t)), &h); err != nil {
		t.Fatal(err)
	}
	defer New().Close(ctx, h)
	if got := p.line(t); got != "survivors" {
		t.Errorf("the tracker in its own session said %q", got)
	}
	p.wantAlive(t, "the tracker in its own session")
	if list, err := New().List(ctx, h); err != nil || len(list) != 1 || list[0].PID != p.Process.Pid {
		t.Errorf("left are %+v, %v", list, err)
	}
	// Control: it is spared only as the tracker. This one is neither it nor its host.
	killer := New()
	self, err := owner.Self()
	if err != nil {
		t.Fatal(err)
	}
	if report, err := killer.Close(ctx, h); !errors.Is(err, core.ErrSurvivors) || len(report.Survivors) != 1 {
		t.Errorf("while its owner lives: %+v, %v (%v)", report, err, self)
	}
	p.Process.Signal(syscall.SIGKILL)
	p.Wait()
	if report, err := killer.Close(ctx, h); err != nil || report.Outcome != core.ProvedEmpty {
		t.Errorf("Close = %+v, %v", report, err)
	}
	if _, err := os.Stat(string(h.Data)); !os.IsNotExist(err) {
		t.Error(err)
	}
}
