package cgroup

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/core/owner"
)

// These tests are for a normal user's login session, where sessions take a scope
// of systemd. Who is moved is never the test itself but an owner that it starts.

// moveKey is the variable that makes every test permit that the test process be
// moved. TestEverythingInScope sets it.
const moveKey = "PINFOLD_CGROUP_TEST_MOVE"

// login skips the test unless sessions take a scope here.
func login(t *testing.T) *Tracker {
	t.Helper()
	tr := New(KillTimeout(watchdog))
	c, err := tr.Probe(ctx)
	if err != nil {
		t.Fatal(err)
	}
	f := c.Findings[0]
	switch own, _ := cgroupOf(os.Getpid()); {
	case f.Level != core.Enforced:
		t.Skip(f.Gap)
	case f.Mechanism != scopeMechanism:
		t.Skip("sessions can be made without a scope here")
	case os.Getenv(moveKey) != "":
		t.Skipf("this process is in %s already", own)
	}
	return tr
}

// An ownerProgram is a process that owns sessions, in the login session until a
// tracker moves it. It starts what it is told to.
type ownerProgram struct {
	*program
	in io.Writer
	core.Owner
}

func startOwner(t *testing.T) *ownerProgram {
	t.Helper()
	cmd := hostileCommand("owner")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p := &ownerProgram{program: startCommand(t, cmd), in: in}
	if p.Owner, err = owner.Of(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *ownerProgram) request(move bool) *core.OpenRequest {
	return &core.OpenRequest{Session: newSession(), Owner: p.Owner, MoveOwner: move}
}

// bear has the owner start a program in a session, and returns its pid.
func (p *ownerProgram) bear(t *testing.T, o *core.Opened, mode string) int {
	t.Helper()
	fmt.Fprintln(p.in, mode, string(o.Handle.Data))
	var pid int
	for range 2 { // the program's "ready" and the owner's word, in either order
		if line := p.line(t); line != "ready" {
			if _, err := fmt.Sscanf(line, "bore %d", &pid); err != nil {
				t.Fatalf("the owner said %q", line)
			}
		}
	}
	return pid
}

// asOwner is the owner program.
func asOwner() {
	say("ready")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		mode, directory, _ := strings.Cut(lines.Text(), " ")
		cgroup, err := os.Open(directory)
		must(err)
		cmd := exec.Command("/proc/self/exe", directory)
		cmd.Env = append(os.Environ(), modeKey+"="+mode)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(cgroup.Fd())}
		must(cmd.Start())
		cgroup.Close()
		say(fmt.Sprintf("bore %d", cmd.Process.Pid))
		go cmd.Wait()
	}
	os.Exit(0)
}

// scopeOfProgram returns the directory of the scope that a process was moved to.
func scopeOfProgram(t *testing.T, pid int) string {
	t.Helper()
	p, err := locate(core.StageList, pid)
	if err != nil {
		t.Fatal(err)
	}
	scope, ok := scopeOf(p.owner)
	if !ok || path.Base(p.owner) != hostGroup {
		t.Fatalf("process %d is in %s", pid, p.owner)
	}
	directory, _ := p.directory(scope)
	return directory
}

func TestScope(t *testing.T) {
	tr := login(t)
	p := startOwner(t)
	before, err := cgroupOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	req := p.request(true)
	o, err := tr.Open(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Birth.Close()
	defer tr.Close(ctx, o.Handle)
	scope := scopeOfProgram(t, p.PID)
	if path.Dir(string(o.Handle.Data)) != scope || path.Base(scope) != scopeName(p.Owner) {
		t.Errorf("the session is %s, the scope %s", o.Handle.Data, scope)
	}
	if f := o.Enforcement.Dimensions[0]; f.Level != core.Enforced || f.Mechanism != scopeMechanism {
		t.Errorf("%+v", f)
	}
	if after, err := cgroupOf(os.Getpid()); err != nil || after != before {
		t.Errorf("the tracker was moved from %s to %s (%v)", before, after, err)
	}

	pid := p.bear(t, o, "double-fork")
	if err := tr.Verify(ctx, o.Handle, pid); err != nil {
		t.Error(err)
	}
	if err := tr.Verify(ctx, o.Handle, p.PID); !errors.Is(err, core.ErrNotMember) {
		t.Errorf("the owner is taken for a member: %v", err)
	}
	// Whoever comes later finds the owner where it is, permitted to move it or not.
	for _, other := range []*Tracker{tr, New(), New()} {
		again, err := other.Open(ctx, req)
		if err != nil || !equal(again.Handle, o.Handle) {
			t.Fatalf("opened again: %+v, %v", again, err)
		}
		again.Birth.Close()
		second, err := other.Open(ctx, p.request(false))
		if err != nil || path.Dir(string(second.Handle.Data)) != scope {
			t.Fatalf("a second session: %+v, %v", second, err)
		}
		second.Birth.Close()
		p.bear(t, second, "sleep")
		if report, err := New().Close(ctx, second.Handle); err != nil || report.Killed != 1 {
			t.Errorf("Close = %+v, %v", report, err)
		}
	}
	report, err := tr.Kill(ctx, o.Handle)
	if err != nil || report.Outcome != core.ProvedEmpty || report.Killed == 0 {
		t.Errorf("Kill = %+v, %v", report, err)
	}
	p.bear(t, o, "setsid") // the session is still of use
	if report, err := tr.Close(ctx, o.Handle); err != nil || report.Killed != 2 {
		t.Errorf("Close = %+v, %v", report, err)
	}
	p.wantAlive(t, "the owner")
	p.Process.Kill()
	p.Wait()
	p.wantAllGone(t)
	until(t, "systemd removes the scope", func() bool { return unix.Access(scope, unix.F_OK) == unix.ENOENT })
}

// What the user manager has of controllers, the sessions can use: the host's
// processes are not in the way.
func TestLimitsInScope(t *testing.T) {
	tr := login(t)
	c, err := tr.Probe(ctx)
	if err != nil {
		t.Fatal(err)
	}
	p := startOwner(t)
	req := p.request(true)
	req.Limits = core.LimitsPolicy{Processes: 10, Memory: 64 << 20}
	o, err := tr.Open(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Birth.Close()
	defer tr.Close(ctx, o.Handle)
	got, foretold := o.Enforcement.Dimensions[1], c.Findings[1]
	if got.Level != foretold.Level || got.Mechanism != foretold.Mechanism || path.Dir(string(o.Handle.Data)) != scopeOfProgram(t, p.PID) {
		t.Errorf("got %+v\nforetold was %+v", got, foretold)
	}
	if got.Level != core.Enforced {
		t.Skip(got.Gap)
	}
	if text, err := os.ReadFile(string(o.Handle.Data) + "/pids.max"); err != nil || string(text) != "10\n" {
		t.Errorf("pids.max is %q (%v)", text, err)
	}
	p.bear(t, o, "sleep")
}

// Nobody is moved who did not permit it, nor by a probe.
func TestScopeTakesPermission(t *testing.T) {
	tr := login(t)
	p := startOwner(t)
	before, err := cgroupOf(p.PID)
	if err != nil {
		t.Fatal(err)
	}
	o, err := tr.Open(ctx, p.request(false))
	if !errors.Is(err, core.ErrNotPermitted) || !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), "MoveHost") {
		t.Errorf("Open = %+v, %v", o, err)
	}
	if _, err := tr.Probe(ctx); err != nil {
		t.Error(err)
	}
	if after, err := cgroupOf(p.PID); err != nil || after != before {
		t.Errorf("the owner was moved from %s to %s (%v)", before, after, err)
	}
}

func TestScopeIsMadeOnce(t *testing.T) {
	login(t)
	p := startOwner(t)
	trackers := []*Tracker{New(), New()}
	var wg sync.WaitGroup
	scopes := make(chan string, 8)
	for i := range cap(scopes) {
		wg.Go(func() {
			tr := trackers[i%len(trackers)]
			o, err := tr.Open(ctx, p.request(true))
			if err != nil {
				t.Error(err)
				return
			}
			o.Birth.Close()
			scopes <- path.Dir(string(o.Handle.Data))
			if _, err := tr.Close(ctx, o.Handle); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	close(scopes)
	want := scopeOfProgram(t, p.PID)
	for got := range scopes {
		if got != want {
			t.Errorf("a session was made below %s, another below %s", got, want)
		}
	}
}

// The tracker stays where it is when its host is moved, and has to reach the
// sessions from there when the host is gone. So does the sweep of a later host.
func TestScopeOfDeadHost(t *testing.T) {
	login(t)
	for name, end := range map[string]func(*Tracker) error{
		"host gone": func(tr *Tracker) error { return tr.HostGone(ctx) },
		"sweep":     func(*Tracker) error { _, err := New().Sweep(ctx); return err },
	} {
		t.Run(name, func(t *testing.T) {
			tr := New(KillTimeout(watchdog))
			p := startOwner(t)
			o, err := tr.Open(ctx, p.request(true))
			if err != nil {
				t.Fatal(err)
			}
			o.Birth.Close()
			defer tr.Close(ctx, o.Handle)
			scope := scopeOfProgram(t, p.PID)
			p.bear(t, o, "double-fork")
			p.Process.Kill()
			p.Wait()
			if s := find(t, New(), o.Handle); s == nil || s.OwnerAlive || s.Processes == 0 {
				t.Fatalf("found %+v", s)
			}
			if err := end(tr); err != nil {
				t.Fatal(err)
			}
			p.wantAllGone(t)
			until(t, "systemd removes the scope", func() bool { return unix.Access(scope, unix.F_OK) == unix.ENOENT })
		})
	}
}

// TestEverythingInScope runs the other tests once more in a process that its own
// trackers move, as a host library's are.
func TestEverythingInScope(t *testing.T) {
	login(t)
	if testing.Short() {
		t.Skip("it runs every other test")
	}
	cmd := exec.Command("/proc/self/exe", "-test.v")
	cmd.Env = append(os.Environ(), moveKey+"=1")
	output, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(output), "--- PASS: TestVerify") {
		t.Errorf("%v\n%s", err, output)
	}
}
