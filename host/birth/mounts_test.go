//go:build linux && (amd64 || arm64)

package birth

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
)

// tree makes a scratch directory with files and directories.
func tree(t *testing.T, names ...string) string {
	t.Helper()
	dir := scratch(t)
	for _, name := range names {
		var err error
		if strings.HasSuffix(name, "/") {
			err = os.MkdirAll(dir+"/"+name, 0o777)
		} else {
			err = os.WriteFile(dir+"/"+name, []byte("content"), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func mounted(mounts ...core.Mount) *core.Birth {
	b := &core.Birth{}
	mountsOf(b, mounts...)
	return b
}

func needReadOnlyBinds(t *testing.T) {
	t.Helper()
	if _, _, errno := unix.Syscall(unix.SYS_MOUNT_SETATTR, 0, 0, 0); errno == unix.ENOSYS {
		t.Skip("needs mount_setattr, Linux 5.12")
	}
}

func TestBind(t *testing.T) {
	dir := tree(t, "source/", "source/file", "target/")
	b := mounted(core.Mount{Kind: core.MountBind, Source: dir + "/source", Target: dir + "/target"})
	expectTries(t, b, "read:"+dir+"/target/file", "ok", "write:"+dir+"/target/new", "ok")
	expectTries(t, nil, "empty:"+dir+"/target", "ok", "read:"+dir+"/source/new", "ok")
}

func TestReadOnlyBind(t *testing.T) {
	needReadOnlyBinds(t)
	dir := tree(t, "a/", "a/deep/", "b/", "file")
	b := mounted(
		core.Mount{Kind: core.MountBind, Source: dir + "/a", Target: dir + "/a", ReadOnly: true},
		core.Mount{Kind: core.MountBind, Source: dir + "/file", Target: dir + "/file", ReadOnly: true},
	)
	expectTries(t, nil, "write:"+dir+"/a/deep/1", "ok", "write:"+dir+"/file", "ok")
	expectTries(t, b, "write:"+dir+"/a/deep/2", "EROFS", "write:"+dir+"/file", "EROFS", "write:"+dir+"/b/2", "ok",
		"read:"+dir+"/a/deep/1", "ok")
}

// TestReadOnlyReachesSubmounts: what is mounted below the source is read-only too.
func TestReadOnlyReachesSubmounts(t *testing.T) {
	needReadOnlyBinds(t)
	needRoot(t)
	dir := tree(t, "a/", "a/deep/")
	if err := unix.Mount("tmpfs", dir+"/a/deep", "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount(dir+"/a/deep", unix.MNT_DETACH)
	b := mounted(core.Mount{Kind: core.MountBind, Source: dir + "/a", Target: dir + "/a", ReadOnly: true})
	expectTries(t, nil, "write:"+dir+"/a/deep/1", "ok")
	expectTries(t, b, "write:"+dir+"/a/deep/2", "EROFS", "read:"+dir+"/a/deep/1", "ok")
}

// TestReadOnlyRoot: everything is read-only but what a later mount shows, which
// is taken as it was before.
func TestReadOnlyRoot(t *testing.T) {
	needReadOnlyBinds(t)
	dir := tree(t, "mine/", "rest/")
	b := mounted(
		core.Mount{Kind: core.MountBind, Source: "/", Target: "/", ReadOnly: true},
		core.Mount{Kind: core.MountBind, Source: dir + "/mine", Target: dir + "/mine"},
	)
	expectTries(t, b, "write:"+dir+"/rest/1", "EROFS", "write:"+dir+"/mine/1", "ok")
	expectTries(t, nil, "write:"+dir+"/rest/1", "ok", "read:"+dir+"/mine/1", "ok")
}

// TestWorkingDirectoryIsBelowNoMount: relative paths meet the mounts, though the
// child inherited a directory from before them.
func TestWorkingDirectoryIsBelowNoMount(t *testing.T) {
	needReadOnlyBinds(t)
	dir := tree(t, "a/", "a/sub/")
	t.Chdir(dir + "/a")
	b := mounted(core.Mount{Kind: core.MountBind, Source: dir + "/a", Target: dir + "/a", ReadOnly: true})
	expectTries(t, nil, "write:1", "ok")
	expectTries(t, b, "write:2", "EROFS")
	for _, d := range []string{"sub", dir + "/a/sub"} {
		c := child("try", "write:3")
		c.Dir = d
		if out, _ := output(t, c, b); out != "write:3 EROFS\n" {
			t.Errorf("in %s: %q", d, out)
		}
	}
}

// TestEmpty: root may pass the permissions, and finds nothing to read or change.
func TestEmpty(t *testing.T) {
	needRoot(t)
	dir := tree(t, "secrets/", "secrets/key", "secret", "open")
	b := mounted(
		core.Mount{Kind: core.MountEmpty, Target: dir + "/secrets"},
		core.Mount{Kind: core.MountEmpty, Target: dir + "/secret"},
	)
	expectTries(t, nil, "read:"+dir+"/secrets/key", "ok", "read:"+dir+"/secret", "ok")
	expectTries(t, b,
		"read:"+dir+"/secrets/key", "ENOENT", "mkdir:"+dir+"/secrets/x", "EROFS", "write:"+dir+"/secret", "EROFS",
		"empty:"+dir+"/secrets", "ok", "read:"+dir+"/open", "ok", "write:"+dir+"/open", "ok")
}

// TestEmptyWithoutPrivilege: nobody else may use what is hidden at all, or take
// the mount away, even as root of a further namespace.
func TestEmptyWithoutPrivilege(t *testing.T) {
	if _, err := exec.LookPath("unshare"); err != nil {
		t.Skip("needs unshare(1)")
	}
	dir := tree(t, "secrets/", "secrets/key", "secret")
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	out := asUser(t, "hide", dir+"/secrets", dir+"/secret")
	if want := "read:secrets/key EACCES\nlist:secrets EACCES\nread:secret EACCES\numount:secrets EPERM\numount-as-root:secrets EINVAL\n"; out != want {
		t.Errorf("%q, want %q", out, want)
	}
}

// TestMountsAreTheChildsOwn: nothing of them is seen outside, and the temporary
// home of the hidden nodes is gone.
func TestMountsAreTheChildsOwn(t *testing.T) {
	dir := tree(t, "a/", "b/", "c")
	before := text0("/proc/self/mountinfo")
	b := mounted(
		core.Mount{Kind: core.MountBind, Source: dir + "/a", Target: dir + "/b"},
		core.Mount{Kind: core.MountEmpty, Target: dir + "/c"},
	)
	c := &Command{Path: "/bin/cat", Args: []string{"cat", "/proc/self/mountinfo"}, Files: make([]*os.File, 3)}
	inside, _ := output(t, c, b)
	if text0("/proc/self/mountinfo") != before {
		t.Error("the caller's mounts changed")
	}
	if strings.Contains(inside, "shared:") || strings.Contains(inside, "master:") {
		t.Errorf("mounts propagate: %s", inside)
	}
	if got, want := strings.Count(inside, "\n"), strings.Count(before, "\n")+2; got != want {
		t.Errorf("%d mounts, want %d:\n%s", got, want, inside)
	}
}

// TestMountsAndLandlock: Landlock comes after the mounts and forbids to undo them.
func TestMountsAndLandlock(t *testing.T) {
	needRoot(t)
	needLandlock(t)
	dir := tree(t, "a/", "a/file")
	b := mounted(core.Mount{Kind: core.MountEmpty, Target: dir + "/a"})
	expectTries(t, b, "umount:"+dir+"/a", "ok", "read:"+dir+"/a/file", "ok")
	b.NoNewPrivileges, b.Landlock = true, []core.LandlockRuleset{{File: rulesetWriting(t, "/")}}
	expectTries(t, b, "umount:"+dir+"/a", "EPERM", "read:"+dir+"/a/file", "ENOENT", "write:"+dir+"/x", "ok")
}
