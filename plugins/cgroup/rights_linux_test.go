package cgroup

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
)

// nobody is a user id that no account of a machine has.
const nobody = 54321

// asNobody runs the "user" program as an ordinary user in the cgroup directory,
// which starts one of some mode in a session, and returns the two lines that it says.
func asNobody(t *testing.T, directory, mode string) (string, string) {
	t.Helper()
	cgroup, err := os.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	defer cgroup.Close()
	cmd := exec.Command("/proc/self/exe", newSession().String(), mode)
	cmd.Dir = "/"
	cmd.Env = []string{modeKey + "=user", "GORACE=atexit_sleep_ms=0"}
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setpgid: true, UseCgroupFD: true, CgroupFD: int(cgroup.Fd()),
		Credential: &syscall.Credential{Uid: nobody, Gid: nobody},
	}
	p := startCommand(t, cmd)
	first, second := p.line(t), p.line(t)
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
	return first, second
}

// testCgroup makes a cgroup, which is removed at the end of the test.
func testCgroup(t *testing.T) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("making a cgroup for another user takes root")
	}
	tr := tracker(t)
	o := open(t, tr)
	directory := filepath.Join(filepath.Dir(string(o.Handle.Data)), fmt.Sprintf("pinfold-test-%d", os.Getpid()))
	if err := os.Mkdir(directory, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		os.WriteFile(filepath.Join(directory, "cgroup.kill"), []byte("1"), 0)
		fd, err := openDirectory(unix.AT_FDCWD, directory, unix.O_PATH)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		until(t, "the cgroup is empty", func() bool {
			removeBelow(ctx, fd)
			return syscall.Rmdir(directory) != syscall.EBUSY
		})
	})
	return directory
}

func delegate(t *testing.T) string {
	t.Helper()
	directory := testCgroup(t)
	for _, file := range []string{"", "cgroup.procs", "cgroup.subtree_control"} {
		if err := os.Chown(filepath.Join(directory, file), nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	return directory
}

// In a delegated cgroup everything works. That is so although a process of the
// session, even one that Landlock keeps from writing to the cgroup filesystem,
// may take the rights of its own user away.
func TestOrdinaryUserInDelegatedCgroup(t *testing.T) {
	for _, mode := range []string{"sleep", "setsid", "nested", "chmod", "chmod-path", "chmod-read-only", "chmod-loop"} {
		t.Run(mode, func(t *testing.T) {
			directory := delegate(t)
			first, second := asNobody(t, directory, mode)
			killed := 1
			if mode == "setsid" {
				killed = 2
			}
			if first != fmt.Sprintf("1 session, proved empty, %d killed", killed) || filepath.Dir(second) != directory {
				t.Errorf("%s\n%s", first, second)
			}
		})
	}
}

// A process of root that Landlock confines may give its cgroup away.
func TestSessionThatWasGivenAway(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("giving a cgroup away takes root")
	}
	tr := tracker(t)
	o := open(t, tr)
	p := start(t, o, "setsid")
	if err := os.Chown(string(o.Handle.Data), nobody, nobody); err != nil {
		t.Fatal(err)
	}
	if s := find(t, tr, o.Handle); s == nil || s.Processes != 2 {
		t.Errorf("found %+v", s)
	}
	if report, err := tr.Close(ctx, o.Handle); err != nil || report.Killed != 2 {
		t.Errorf("Close = %+v, %v", report, err)
	}
	p.Wait()
	p.wantAllGone(t)
}

func TestOrdinaryUserWithoutRights(t *testing.T) {
	directory := testCgroup(t)
	first, second := asNobody(t, directory, "sleep")
	if first != fmt.Sprintf("%s %d %s", core.ErrNotPermitted, syscall.EACCES, directory) ||
		!strings.Contains(second, "may not make a cgroup below") || !strings.Contains(second, "loginctl enable-linger 54321") {
		t.Errorf("%s\n%s", first, second)
	}
}

// In a login session a user can make cgroups that no process of the session can
// be moved to. A mkdir that works must not pass for a session.
func TestOrdinaryUserMayMakeButNotJoin(t *testing.T) {
	directory := testCgroup(t)
	if err := os.Chown(directory, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	first, second := asNobody(t, directory, "sleep")
	if first != fmt.Sprintf("%s %d %s", core.ErrNotPermitted, syscall.EACCES, directory) ||
		!strings.Contains(second, "may not start a process in a new cgroup below") {
		t.Errorf("%s\n%s", first, second)
	}
	if left, err := filepath.Glob(directory + "/pinfold-*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

// After cgroup.kill, current kernels kill whoever is born into the cgroup from
// outside. This is why Kill does without it; the test is here to tell when a
// kernel no longer does so.
func TestBirthIntoKilledCgroup(t *testing.T) {
	tr := tracker(t)
	o := open(t, tr)
	if err := join(int(o.Birth.Cgroup.Fd())); err != nil {
		t.Fatalf("before the kill: %v", err)
	}
	if err := os.WriteFile(filepath.Join(string(o.Handle.Data), "cgroup.kill"), []byte("1"), 0); err != nil {
		t.Skip(err)
	}
	switch err := join(int(o.Birth.Cgroup.Fd())); err {
	case errKilledAtBirth:
		t.Log("this kernel kills at birth in a cgroup that was killed once")
	case nil:
		t.Log("this kernel lets processes be born in a cgroup that was killed once")
	default:
		t.Error(err)
	}
}

// The other way round: from a cgroup that was killed once, nothing can be born
// in another. A tracker there has to say so, not to open sessions that kill
// whatever is started in them.
func TestOpenFromKilledCgroup(t *testing.T) {
	directory := testCgroup(t)
	if err := os.WriteFile(filepath.Join(directory, "cgroup.kill"), []byte("1"), 0); err != nil {
		t.Skip(err)
	}
	p := start(t, nil, "moved", newSession().String(), "sleep", directory)
	first, second := p.line(t), p.line(t)
	switch {
	case first == "unsupported 0 "+directory:
		if !strings.Contains(second, "it is killed at its birth, since the cgroup") {
			t.Error(second)
		}
	case strings.HasSuffix(first, "proved empty, 1 killed"):
		t.Log("this kernel lets processes of a cgroup that was killed once start others elsewhere")
	default:
		t.Errorf("%s\n%s", first, second)
	}
	p.Wait()
}
