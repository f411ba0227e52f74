//go:build unix

package host

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pinfold/pinfold/core"
)

// Trackers that fail when they are needed.

var errAway = &core.Error{Reason: core.ErrUnavailable, Stage: core.StageClose, Backend: "fake", Detail: "the tracker is away"}

func TestAFailedCloseCanBeRepeated(t *testing.T) {
	survivor := core.Process{PID: 7, Command: "stuck"}
	answers := []struct {
		report *core.KillReport
		err    error
	}{
		{nil, errAway},
		{&core.KillReport{Outcome: core.GaveUp, Killed: 2, Processes: []core.Process{{PID: 5}, survivor}, Survivors: []core.Process{survivor}},
			&core.Error{Reason: core.ErrSurvivors, Stage: core.StageClose, Detail: "1 process survived"}},
		{&core.KillReport{Outcome: core.ProvedEmpty, Killed: 1, Processes: []core.Process{survivor}}, nil},
	}
	calls := 0
	tracker := &fakeTracker{close: func(context.Context) (*core.KillReport, error) {
		calls++
		return answers[calls-1].report, answers[calls-1].err
	}}
	h, _ := fakeHost(t, &fakeConfiner{}, tracker)
	s, err := h.Open(context.Background(), core.WorkspaceWrite(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	report, err := s.Close(context.Background())
	if !errors.Is(err, core.ErrUnavailable) || report == nil || report.Left != nil || !report.Closed.IsZero() {
		t.Errorf("the tracker is away: %+v, %v", report, err)
	}
	if err := s.Command("true").Start(); !errors.Is(err, core.ErrClosed) {
		t.Errorf("a command after a failed Close: %v", err)
	}
	report, err = s.Close(context.Background())
	if !errors.Is(err, core.ErrSurvivors) || report.Left.Outcome != core.GaveUp || len(report.Left.Survivors) != 1 {
		t.Errorf("there are survivors: %+v, %v", report.Left, err)
	}
	if !existsDir(s.temp) {
		t.Error("the temporary directory of survivors is gone")
	}
	report, err = s.Close(context.Background())
	if err != nil || report.Left.Outcome != core.ProvedEmpty || report.Left.Killed != 3 || len(report.Left.Processes) != 2 || report.Left.Survivors != nil {
		t.Errorf("at last: %+v, %v", report.Left, err)
	}
	if existsDir(s.temp) {
		t.Error("the temporary directory is left")
	}
	if _, err := s.Close(context.Background()); err != nil || calls != 3 {
		t.Errorf("%v after %d calls", err, calls)
	}
}

func TestAFailedHostCloseCanBeRepeated(t *testing.T) {
	away := true
	tracker := &fakeTracker{close: func(context.Context) (*core.KillReport, error) {
		if away {
			return nil, errAway
		}
		return &core.KillReport{Outcome: core.ProvedEmpty}, nil
	}}
	h, _ := fakeHost(t, &fakeConfiner{}, tracker)
	for range 3 {
		if _, err := h.Open(context.Background(), core.WorkspaceWrite(t.TempDir())); err != nil {
			t.Fatal(err)
		}
	}
	err := h.Close()
	if !errors.Is(err, core.ErrUnavailable) || !strings.Contains(err.Error(), "3 sessions could not be closed") {
		t.Errorf("the tracker is away: %v", err)
	}
	if h.guardIsDone() {
		t.Error("nobody guards the tracker any more")
	}
	away = false
	if err := h.Close(); err != nil || !h.guardIsDone() {
		t.Errorf("the tracker is back: %v", err)
	}
}

func (h *Host) guardIsDone() bool {
	select {
	case <-h.guardEnded:
		return true
	default:
		return false
	}
}

// A tracker that hangs keeps Close only until its context ends.
func TestCloseDoesNotHang(t *testing.T) {
	hang := true
	tracker := &fakeTracker{close: func(ctx context.Context) (*core.KillReport, error) {
		if hang {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return &core.KillReport{Outcome: core.ProvedEmpty}, nil
	}}
	h, _ := fakeHost(t, &fakeConfiner{}, tracker)
	s, err := h.Open(context.Background(), core.WorkspaceWrite(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.end(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Close: %v", err)
	}
	hang = false
	mustEnd(t, s)
}

// A birth that hangs, in a filesystem that does not answer, is killed with the
// session, and nothing is closed before it has ended.
func TestCloseKillsABirthThatHangs(t *testing.T) {
	tracker := &fakeTracker{}
	h, _ := fakeHost(t, &fakeConfiner{}, tracker)
	s, err := h.Open(context.Background(), core.WorkspaceWrite(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.beginBirth(); err != nil {
		t.Fatal(err)
	}
	killed := false
	tracker.kill = func(context.Context) (*core.KillReport, error) {
		killed = true
		s.endBirth()
		return &core.KillReport{Outcome: core.ProvedEmpty}, nil
	}
	tracker.close = func(context.Context) (*core.KillReport, error) {
		if !killed {
			t.Error("the session was closed under a birth")
		}
		return &core.KillReport{Outcome: core.ProvedEmpty}, nil
	}
	mustEnd(t, s)
	if !killed {
		t.Error("nothing was killed")
	}
}

func TestOpenAfterTheTemporaryDirectoriesWereCleaned(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	h, _ := fakeHost(t, &fakeConfiner{}, &fakeTracker{})
	if err := os.RemoveAll(h.temp); err != nil {
		t.Fatal(err)
	}
	s, err := h.Open(context.Background(), core.WorkspaceWrite(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	mustEnd(t, s)
}

func TestLastingContexts(t *testing.T) {
	type key struct{}
	parent, endParent := context.WithCancel(context.WithValue(context.Background(), key{}, "value"))
	ctx, cancel := lasting(parent, time.Millisecond)
	defer cancel()
	if ctx.Value(key{}) != "value" || ctx.Err() != nil {
		t.Error("the context is not the parent's")
	}
	endParent()
	<-ctx.Done()
	ctx, cancel = lasting(parent, time.Hour)
	if ctx.Err() != nil {
		t.Error("a context ended before its grace")
	}
	cancel()
	<-ctx.Done()
}

// The answer to an Open may be lost when the tracker has opened the session.
func TestALostAnswerToOpenIsAskedForAgain(t *testing.T) {
	var lost bool
	tracker := &fakeTracker{open: func(*core.OpenRequest, *core.Opened) error {
		if !lost {
			lost = true
			return context.DeadlineExceeded
		}
		return nil
	}}
	h, _ := fakeHost(t, &fakeConfiner{}, tracker)
	if _, err := h.Open(context.Background(), core.WorkspaceWrite(t.TempDir())); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Open: %v", err)
	}
	if tracker.opens != 2 || tracker.closes != 1 {
		t.Errorf("opened %d times, closed %d times", tracker.opens, tracker.closes)
	}
	// One that refuses is believed.
	tracker.open = func(*core.OpenRequest, *core.Opened) error {
		return &core.Error{Reason: core.ErrNotPermitted, Stage: core.StageOpen, Detail: "no"}
	}
	tracker.opens = 0
	if _, err := h.Open(context.Background(), core.WorkspaceWrite(t.TempDir())); !errors.Is(err, core.ErrNotPermitted) || tracker.opens != 1 {
		t.Errorf("Open: %v, asked %d times", err, tracker.opens)
	}
}

func TestMembershipDenied(t *testing.T) {
	denied := &core.Error{Reason: core.ErrNotMember, Stage: core.StageVerify, Detail: "it is elsewhere"}
	h, _ := fakeHost(t, &fakeConfiner{}, &fakeTracker{verify: func(context.Context, int) error { return denied }})
	s, err := h.Open(context.Background(), core.WorkspaceWrite(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	defer mustEnd(t, s)
	for range 2 {
		if err := s.Command("sleep", "1000").Start(); !errors.Is(err, core.ErrNotMember) {
			t.Errorf("Start: %v", err)
		}
	}
	if n := len(s.commands); n != 1 {
		t.Errorf("%d commands were born after the denial", n-1)
	}
}

// A tracker that does not answer is asked again, about the next command.
func TestMembershipUnknown(t *testing.T) {
	var asked atomic.Int32
	h, _ := fakeHost(t, &fakeConfiner{}, &fakeTracker{verify: func(context.Context, int) error {
		if asked.Add(1) == 1 {
			return errAway
		}
		return nil
	}})
	s, err := h.Open(context.Background(), core.WorkspaceWrite(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	defer mustEnd(t, s)
	if err := s.Command("sleep", "1000").Start(); !errors.Is(err, core.ErrUnavailable) {
		t.Errorf("Start: %v", err)
	}
	for range 2 {
		if err := s.Command("true").Run(); err != nil {
			t.Errorf("Run: %v", err)
		}
	}
	if asked.Load() != 2 {
		t.Errorf("the tracker was asked %d times", asked.Load())
	}
}

func TestTheTrackerIsStartedAgain(t *testing.T) {
	h, process := fakeHost(t, &fakeConfiner{}, &fakeTracker{})
	started := make(chan struct{})
	failures := 2
	process.start = func() error {
		if failures > 0 {
			failures--
			return errAway
		}
		started <- struct{}{}
		return nil
	}
	s, err := h.Open(context.Background(), core.WorkspaceWrite(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	process.deaths <- struct{}{}
	<-started
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline) && len(h.incidentsBetween(s.report.Opened, time.Time{})) < 3; {
		time.Sleep(time.Millisecond)
	}
	incidents := mustEnd(t, s).Incidents
	if len(incidents) != 3 || !strings.Contains(incidents[0].What, "cannot be started again: fake: the tracker is away") ||
		!strings.Contains(incidents[len(incidents)-1].What, "was started again") {
		t.Errorf("the report's incidents are %+v", incidents)
	}
	// Without a session, the next Open starts it.
	process.start = func() error { t.Error("it was started for nobody"); return nil }
	process.deaths <- struct{}{}
}

func TestIncidentsAreBounded(t *testing.T) {
	h, _ := fakeHost(t, &fakeConfiner{}, &fakeTracker{})
	before := time.Now()
	for range 3 * maxIncidents {
		h.note("again")
	}
	if n := len(h.incidentsBetween(before, time.Time{})); n != maxIncidents {
		t.Errorf("%d incidents", n)
	}
	if n := len(h.incidentsBetween(time.Now(), time.Time{})); n != 0 {
		t.Errorf("%d incidents of the past", n)
	}
}
