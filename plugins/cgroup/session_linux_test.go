package cgroup

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/core/owner/procstat"
)

var ctx = context.Background()

func TestEveryMethodIsIdempotent(t *testing.T) {
	tr := tracker(t)
	req := request(t)
	var first *core.Opened
	for range 10 {
		o, err := tr.Open(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		defer o.Birth.Close()
		if first == nil {
			first = o
		}
		if !equal(o.Handle, first.Handle) {
			t.Fatalf("opened again: %+v, first %+v", o.Handle, first.Handle)
		}
	}
	p := start(t, first, "sleep")
	for i := range 10 {
		report, err := tr.Kill(ctx, first.Handle)
		if err != nil || report.Outcome != core.ProvedEmpty || report.Killed != max(0, 1-i) {
			t.Fatalf("Kill %d = %+v, %v", i, report, err)
		}
		p.Wait()
	}
	for i := range 10 {
		report, err := tr.Close(ctx, first.Handle)
		if err != nil || report.Outcome != core.ProvedEmpty || report.Killed != 0 {
			t.Fatalf("Close %d = %+v, %v", i, report, err)
		}
	}
	// What does not exist: ended already, to List and Verify not there.
	if report, err := tr.Kill(ctx, first.Handle); err != nil || report.Outcome != core.ProvedEmpty {
		t.Errorf("Kill after Close = %+v, %v", report, err)
	}
	if _, err := tr.List(ctx, first.Handle); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("List after Close: %v", err)
	}
	if err := tr.Verify(ctx, first.Handle, os.Getpid()); !errors.Is(err, core.ErrNotMember) {
		t.Errorf("Verify after Close: %v", err)
	}
}

func equal(a, b core.Handle) bool {
	return a.Session == b.Session && a.Tracker == b.Tracker && a.State == b.State && string(a.Data) == string(b.Data)
}

// A cgroup that is open already stays open when opening it again fails.
func TestOpenTwiceWithAnotherLifetime(t *testing.T) {
	tr := tracker(t)
	req := request(t)
	o, err := tr.Open(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close(ctx, o.Handle)
	defer o.Birth.Close()
	req.Detached = true
	if again, err := tr.Open(ctx, req); !errors.Is(err, core.ErrInvalidRequest) {
		t.Errorf("Open = %+v, %v", again, err)
	}
	if _, err := tr.List(ctx, o.Handle); err != nil {
		t.Errorf("the session is gone: %v", err)
	}
}

func TestOpenRefusesOwnersThatDoNotLive(t *testing.T) {
	tr := tracker(t)
	good := request(t).Owner
	for name, change := range map[string]func(*core.Owner){
		"no pid":        func(o *core.Owner) { o.PID = 0 },
		"negative pid":  func(o *core.Owner) { o.PID = -1 },
		"no such pid":   func(o *core.Owner) { o.PID = 1 << 30 },
		"reused pid":    func(o *core.Owner) { o.Start++ },
		"another boot":  func(o *core.Owner) { o.Boot = "00000000-0000-0000-0000-000000000000" },
		"no boot":       func(o *core.Owner) { o.Boot = "" },
		"slash in boot": func(o *core.Owner) { o.Boot = "../../../../../../../../../../../../../" },
	} {
		req := &core.OpenRequest{Session: newSession(), Owner: good}
		change(&req.Owner)
		if o, err := tr.Open(ctx, req); !errors.Is(err, core.ErrInvalidRequest) {
			t.Errorf("%s: Open = %+v, %v", name, o, err)
		}
	}
}

func TestVerify(t *testing.T) {
	tr := tracker(t)
	one, two := open(t, tr), open(t, tr)
	member, outside := start(t, one, "sleep"), start(t, nil, "sleep")
	nested := start(t, one, "nested", string(one.Handle.Data))

	for _, c := range []struct {
		what    string
		session *core.Opened
		pid     int
		want    error
	}{
		{"a member", one, member.Process.Pid, nil},
		{"a member that moved further down", one, nested.Process.Pid, nil},
		{"a member of another session", two, member.Process.Pid, core.ErrNotMember},
		{"a process in no session", one, outside.Process.Pid, core.ErrNotMember},
		{"the test", one, os.Getpid(), core.ErrNotMember},
		{"nobody", one, 1 << 30, core.ErrNotMember},
		{"pid 0", one, 0, core.ErrInvalidRequest},
		{"a process group", one, -member.Process.Pid, core.ErrInvalidRequest},
	} {
		err := tr.Verify(ctx, c.session.Handle, c.pid)
		if c.want == nil && err != nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.what, err, c.want)
		}
	}
	// A child may end before its host gets to ask.
	member.Process.Kill()
	until(t, "the member is a zombie", func() bool { return isZombie(member.Process.Pid) })
	if err := tr.Verify(ctx, one.Handle, member.Process.Pid); err != nil {
		t.Errorf("a member that is a zombie: %v", err)
	}
}

func isZombie(pid int) bool {
	stat, err := procstat.Read(pid)
	return err == nil && stat.Gone()
}

func TestListNamesEveryMemberOnce(t *testing.T) {
	tr := tracker(t)
	o := open(t, tr)
	plain := start(t, o, "sleep")
	nested := start(t, o, "nested", string(o.Handle.Data))
	parent := start(t, o, "many", "3")
	zombie := start(t, o, "zombies")

	var got []core.Process
	until(t, "the last of the thousand children has ended", func() bool {
		var err error
		if got, err = tr.List(ctx, o.Handle); err != nil {
			t.Fatal(err)
		}
		return len(got) <= 7
	})
	children := 0
	var pids []int
	for _, p := range got {
		pids = append(pids, p.PID)
		if p.Parent == parent.Process.Pid {
			children++
		}
		if p.Command == "" {
			t.Errorf("no name: %+v", p)
		}
	}
	slices.Sort(pids)
	for _, p := range []*program{plain, nested, parent, zombie} {
		if !slices.Contains(pids, p.Process.Pid) {
			t.Errorf("process %d is not listed", p.Process.Pid)
		}
	}
	if children != 3 || len(pids) != 7 || len(slices.Compact(pids)) != 7 {
		t.Errorf("%d children of 3, %d processes of 7: %+v", children, len(pids), got)
	}
}

// The threads of one process in two cgroups are one process.
func TestListProcessWithThreadsInSubgroup(t *testing.T) {
	tr := tracker(t)
	o := open(t, tr)
	p := start(t, o, "threaded", string(o.Handle.Data))
	got, err := tr.List(ctx, o.Handle)
	if err != nil || len(got) != 1 || got[0].PID != p.Process.Pid {
		t.Errorf("List = %+v, %v", got, err)
	}
}

// Sixty-four sessions at once, each with processes; those of the odd ones are
// killed and must not touch the even ones.
func TestManySessionsAtOnce(t *testing.T) {
	tr := tracker(t)
	const n = 64
	sessions := make([]*core.Opened, n)
	programs := make([]*program, n)
	var wg sync.WaitGroup
	errs := make([]error, n)
	requests := make([]*core.OpenRequest, n)
	for i := range requests {
		requests[i] = request(t)
	}
	for i := range n {
		wg.Go(func() { sessions[i], errs[i] = tr.Open(ctx, requests[i]) })
	}
	wg.Wait()
	for i := range n {
		if errs[i] != nil {
			t.Fatal(errs[i])
		}
		programs[i] = start(t, sessions[i], "many", "3")
	}
	for i := 1; i < n; i += 2 {
		wg.Go(func() {
			report, err := tr.Kill(ctx, sessions[i].Handle)
			if err != nil || report.Killed != 4 {
				t.Errorf("Kill %d = %+v, %v", i, report, err)
			}
		})
	}
	wg.Wait()
	for i := range n {
		want := 4 * (1 - i%2)
		if got, err := tr.List(ctx, sessions[i].Handle); err != nil || len(got) != want {
			t.Errorf("session %d has %d members (%v), want %d", i, len(got), err, want)
		}
		// Twice at once, as a host and a sweep may.
		for range 2 {
			wg.Go(func() {
				if report, err := tr.Close(ctx, sessions[i].Handle); err != nil || report.Outcome != core.ProvedEmpty {
					t.Errorf("Close %d = %+v, %v", i, report, err)
				}
			})
		}
	}
	wg.Wait()
	for i := range n {
		sessions[i].Birth.Close()
		programs[i].Wait()
		programs[i].wantAllGone(t)
	}
}

// A handle is words. None of these may do anything to anyone.
func TestForgedHandles(t *testing.T) {
	tr := tracker(t)
	victim := open(t, tr)
	p := start(t, victim, "sleep")
	path := string(victim.Handle.Data)
	name := filepath.Base(path)
	tmp := t.TempDir()
	if err := os.Mkdir(filepath.Join(tmp, name), 0o755); err != nil {
		t.Fatal(err)
	}
	links := t.TempDir()
	if err := os.Symlink(path, filepath.Join(links, name)); err != nil {
		t.Fatal(err)
	}
	stranger := filepath.Join(filepath.Dir(path), "pinfold-test-stranger")
	if err := os.Mkdir(stranger, 0o755); err != nil {
		t.Fatal(err)
	}
	defer syscall.Rmdir(stranger)
	// As another user of the tracker would have made it.
	foreign := filepath.Join(filepath.Dir(path), strings.Replace(name, "pinfold-0-", "pinfold-54321-", 1))
	if os.Getuid() != 0 {
		t.Skip("making another user's cgroup takes root")
	}
	if err := errors.Join(os.Mkdir(foreign, 0o755), os.Chown(foreign, nobody, nobody)); err != nil {
		t.Fatal(err)
	}
	defer syscall.Rmdir(foreign)

	forge := func(data string) core.Handle {
		h := victim.Handle
		h.Data = []byte(data)
		return h
	}
	otherID := victim.Handle
	otherID.Session = core.NewSessionID()
	otherTracker := victim.Handle
	otherTracker.Tracker = "fingerprint"
	otherState := victim.Handle
	otherState.State++
	for what, c := range map[string]struct {
		handle core.Handle
		want   error
	}{
		"empty":                      {core.Handle{}, core.ErrInvalidRequest},
		"of another tracker":         {otherTracker, core.ErrInvalidRequest},
		"of a later version":         {otherState, core.ErrUnknownFeature},
		"of another session":         {otherID, core.ErrInvalidRequest},
		"no data":                    {forge(""), core.ErrInvalidRequest},
		"the root":                   {forge("/"), core.ErrInvalidRequest},
		"all processes":              {forge(filepath.Dir(path)), core.ErrInvalidRequest},
		"a stranger's cgroup":        {forge(stranger), core.ErrInvalidRequest},
		"relative":                   {forge(name), core.ErrInvalidRequest},
		"not clean":                  {forge(filepath.Dir(path) + "/./" + name), core.ErrInvalidRequest},
		"climbing":                   {forge(path + "/../" + name), core.ErrInvalidRequest},
		"a NUL":                      {forge(filepath.Dir(path) + "/\x00/" + name), core.ErrInvalidRequest},
		"a directory that is none":   {forge(filepath.Join(tmp, name)), core.ErrInvalidRequest},
		"a link":                     {forge(filepath.Join(links, name)), core.ErrInvalidRequest},
		"a cgroup of another user's": {forge(foreign), core.ErrInvalidRequest},
	} {
		if report, err := tr.Kill(ctx, c.handle); !errors.Is(err, c.want) {
			t.Errorf("%s: Kill = %+v, %v", what, report, err)
		}
		if report, err := tr.Close(ctx, c.handle); !errors.Is(err, c.want) {
			t.Errorf("%s: Close = %+v, %v", what, report, err)
		}
		if list, err := tr.List(ctx, c.handle); !errors.Is(err, c.want) {
			t.Errorf("%s: List = %+v, %v", what, list, err)
		}
		if err := tr.Verify(ctx, c.handle, p.Process.Pid); !errors.Is(err, c.want) {
			t.Errorf("%s: Verify = %v", what, err)
		}
	}
	p.wantAlive(t, "the process in the session")
	for _, path := range []string{filepath.Join(tmp, name), stranger, foreign} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

// A path is no proof of a cgroup's name: mounts give it others.
func TestForgedMount(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounting takes root")
	}
	tr := tracker(t)
	victim := open(t, tr)
	p := start(t, victim, "sleep")
	cmd := hostileCommand("forger", string(victim.Handle.Data), t.TempDir())
	cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWNS
	forger := startCommand(t, cmd)
	if got := forger.line(t); got != "<nil> true" {
		t.Errorf("Kill: %s", got)
	}
	if got := forger.line(t); got != "a mount point, not a session's cgroup" {
		t.Errorf("check: %s", got)
	}
	p.wantAlive(t, "the process in the session")
}
