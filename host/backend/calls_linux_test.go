package backend

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/grpc"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/core/backendpb"
)

func socketOf(t *testing.T, s *Supervisor) string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	sockets, err := filepath.Glob(filepath.Join(s.current.dir, "plugin*"))
	if err != nil || len(sockets) != 1 {
		t.Fatalf("sockets: %v, %v", sockets, err)
	}
	return sockets[0]
}

func TestOnlyTheHostMayCall(t *testing.T) {
	s := supervise(t, self(t, ""))
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	for _, line := range role(t, "as-intruder", socketOf(t, s)) {
		if !strings.HasSuffix(line, " Unavailable") {
			t.Errorf("the intruder was let in: %s", line)
		}
	}
	if _, err := s.Confiner().Describe(bounded(t)); err != nil || s.Starts() != 1 {
		t.Errorf("after the intruder: %v, %d starts", err, s.Starts())
	}
}

// The control of the test above: the intruder's calls work where nobody checks,
// and the second one ends the backend.
func TestIntruderReachesWhoDoesNotCheck(t *testing.T) {
	s := supervise(t, self(t, "alien", "open"))
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	if line := role(t, "as-intruder", socketOf(t, s))[0]; !strings.HasSuffix(line, " OK") {
		t.Error(line)
	}
	s.mu.Lock()
	g := s.current
	s.mu.Unlock()
	select {
	case <-g.alive.Done():
	case <-bounded(t).Done():
		t.Error("the backend lives on")
	}
}

// A backend that sends its host to another process's socket gets no calls.
func TestOnlyTheBackendIsCalled(t *testing.T) {
	socket := filepath.Join(shortDir(t), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	backendpb.RegisterConfinerServer(server, alienConfiner{})
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	s := supervise(t, self(t, "impostor", socket))
	_, err = s.Confiner().Describe(bounded(t))
	e := wantReason(t, err, core.ErrUnavailable)
	if !strings.Contains(e.Error(), "process "+strconv.Itoa(os.Getpid())+" is at the other end") {
		t.Errorf("the error does not say who was there: %v", err)
	}
}

func TestAnswersThatAreNotUnderstood(t *testing.T) {
	s := supervise(t, self(t, "alien"))
	_, err := s.Confiner().Describe(bounded(t))
	wantReason(t, err, core.ErrUnknownFeature)
	_, err = s.Tracker().List(bounded(t), handle(core.NewSessionID(), ""))
	wantReason(t, err, core.ErrUnknownFeature)
	_, err = s.Confiner().Plan(bounded(t), policy("", 0))
	wantReason(t, err, core.ErrUnsupported)
}

func TestUnknownFeature(t *testing.T) {
	s := supervise(t, self(t, ""))
	request := policy("", 1)
	request.Policy.Filesystem.Rules[0].Deny = true
	if _, err := s.Confiner().Plan(bounded(t), request); err != nil {
		t.Errorf("a feature that the backend has: %v", err)
	}
	request.Policy.Network.Mode = core.NetworkPorts
	_, err := s.Confiner().Plan(bounded(t), request)
	wantReason(t, err, core.ErrUnknownFeature)
	open := &core.OpenRequest{Session: core.NewSessionID(), Owner: core.Owner{PID: 1}, Detached: true}
	_, err = s.Tracker().Open(bounded(t), open)
	wantReason(t, err, core.ErrUnknownFeature)
}

func TestTypedErrorsCross(t *testing.T) {
	s := supervise(t, self(t, ""))
	_, err := s.Confiner().Plan(bounded(t), policy("refuse", 0))
	e := wantReason(t, err, core.ErrNotPermitted)
	if !errors.Is(err, fs.ErrPermission) || !errors.Is(err, syscall.EACCES) || !errors.Is(err, core.ErrNotPermitted) {
		t.Errorf("errors.Is does not match %v", err)
	}
	want := core.Error{Reason: e.Reason, Stage: core.StagePlan, Backend: "scripted", Detail: "opening a path",
		Path: "/se\xffcret", Errno: syscall.EACCES, Remedy: "ask its owner", Err: e.Err}
	if *e != want {
		t.Errorf("got %#v, want %#v", *e, want)
	}
	_, err = s.Tracker().Open(bounded(t), &core.OpenRequest{Session: core.NewSessionID()})
	wantReason(t, err, core.ErrInvalidRequest)
}

func TestKillReportCrossesWithItsError(t *testing.T) {
	s := supervise(t, self(t, ""))
	for name, kill := range map[string]func(context.Context, core.Handle) (*core.KillReport, error){
		"Kill": s.Tracker().Kill, "Close": s.Tracker().Close,
	} {
		report, err := kill(bounded(t), handle(core.NewSessionID(), "survivors"))
		wantReason(t, err, core.ErrSurvivors)
		if report == nil || report.Outcome != core.GaveUp || len(report.Survivors) != 1 || report.Survivors[0].Command != "hydra" {
			t.Errorf("%s: the report is %+v", name, report)
		}
		report, err = kill(bounded(t), handle(core.NewSessionID(), ""))
		if err != nil || report.Outcome != core.ProvedEmpty {
			t.Errorf("%s: %+v, %v", name, report, err)
		}
	}
}

func TestFilesCross(t *testing.T) {
	s := supervise(t, self(t, ""))
	p, err := s.Confiner().Plan(bounded(t), policy("file", 0))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	wantNull(t, p.Birth.Landlock[0].File)
	request := &core.OpenRequest{Session: core.NewSessionID(), Owner: core.Owner{PID: 1, Start: 2, Boot: "b"}}
	opened, err := s.Tracker().Open(bounded(t), request)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Birth.Close()
	wantNull(t, opened.Birth.Cgroup)
	if opened.Handle.Session != request.Session || len(opened.Constraints) != 1 {
		t.Errorf("opened %+v", opened)
	}
	if err := s.Tracker().Verify(bounded(t), opened.Handle, 1); err != nil {
		t.Error(err)
	}
	wantReason(t, s.Tracker().Verify(bounded(t), opened.Handle, 2), core.ErrNotMember)
}

func wantNull(t *testing.T, f *os.File) {
	t.Helper()
	got, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	null, err := os.Stat(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	if !os.SameFile(got, null) {
		t.Errorf("another file arrived: %v", got)
	}
}

// Lists longer than a page, and messages larger than gRPC's usual 4 MiB, cross
// in both directions; what is larger than the contract's limit says so.
func TestSizes(t *testing.T) {
	s := supervise(t, self(t, "large"))
	list, err := s.Tracker().List(bounded(t), core.Handle{Session: core.NewSessionID(), State: 10_000})
	if err != nil || len(list) != 10_000 || list[9999].PID != 10_000 || list[0].Command != "a\xffb" {
		t.Errorf("%d processes, %v", len(list), err)
	}
	if sessions, err := s.Tracker().Sessions(bounded(t)); err != nil || len(sessions) != 5000 {
		t.Errorf("%d sessions, %v", len(sessions), err)
	}
	if report, err := s.Tracker().Sweep(bounded(t)); err != nil || report.Killed != 3 || len(report.Failed) != 1 {
		t.Errorf("%+v, %v", report, err)
	}
	if d, err := s.Confiner().Describe(bounded(t)); err != nil || len(d.Features) != 601 {
		t.Errorf("an answer of 6 MiB: %v", err)
	}
	p, err := s.Confiner().Plan(bounded(t), policy("", 2000))
	if err != nil || p.Listing != "2000" {
		t.Errorf("a request of 5 MiB: %v, %v", p, err)
	}
	_, err = s.Confiner().Plan(bounded(t), policy("", 7000))
	e := wantReason(t, err, core.ErrInvalidRequest)
	if !strings.Contains(e.Error(), "16 MiB") {
		t.Errorf("the error of a request of 20 MiB: %v", err)
	}
	if s.Starts() != 1 {
		t.Errorf("%d starts", s.Starts())
	}
}

func TestServiceThatIsNotThere(t *testing.T) {
	s := supervise(t, self(t, "confiner"))
	if _, err := s.Confiner().Describe(bounded(t)); err != nil {
		t.Fatal(err)
	}
	_, err := s.Tracker().Describe(bounded(t))
	wantReason(t, err, core.ErrUnsupported)
}
