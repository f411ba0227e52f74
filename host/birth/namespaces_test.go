//go:build linux && (amd64 || arm64)

package birth

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
)

var namespaceFailures = map[string]failure{
	"mount namespace without privilege": {step: "mount namespace", call: "unshare", errno: unix.EPERM, user: true,
		prepare: func(_ string, _ *Command, b *core.Birth) { b.Namespaces = core.NamespaceMount }},
	"ipc namespace without privilege": {step: "ipc namespace", call: "unshare", errno: unix.EPERM, user: true,
		prepare: func(_ string, _ *Command, b *core.Birth) { b.Namespaces = core.NamespaceIPC }},
	"network namespace without privilege": {step: "network namespace", call: "unshare", errno: unix.EPERM, user: true,
		prepare: func(_ string, _ *Command, b *core.Birth) { b.Namespaces = core.NamespaceNetwork }},
	"no source": {step: "mount /tmp", call: "openat2", errno: unix.ENOENT,
		prepare: func(dir string, _ *Command, b *core.Birth) {
			mountsOf(b, core.Mount{Kind: core.MountBind, Source: dir + "/none", Target: "/tmp"})
		}},
	"no target": {step: "mount /none/x", call: "openat2", errno: unix.ENOENT,
		prepare: func(dir string, _ *Command, b *core.Birth) {
			mountsOf(b, core.Mount{Kind: core.MountBind, Source: dir, Target: "/none/x"})
		}},
	"no target to hide": {step: "mount /none/x", call: "lstat", errno: unix.ENOENT,
		prepare: func(_ string, _ *Command, b *core.Birth) {
			mountsOf(b, core.Mount{Kind: core.MountEmpty, Target: "/none/x"})
		}},
	"a symbolic link as target": {step: "mount /proc/self", call: "openat2", errno: unix.ELOOP,
		prepare: func(dir string, _ *Command, b *core.Birth) {
			mountsOf(b, core.Mount{Kind: core.MountBind, Source: dir, Target: "/proc/self"})
		}},
	"a symbolic link on the way": {step: "mount /proc/self/fd", call: "openat2", errno: unix.ELOOP,
		prepare: func(dir string, _ *Command, b *core.Birth) {
			mountsOf(b, core.Mount{Kind: core.MountBind, Source: dir, Target: "/proc/self/fd"})
		}},
	"a symbolic link to hide": {step: "mount /proc/self/fd", call: "openat2", errno: unix.ELOOP,
		prepare: func(_ string, _ *Command, b *core.Birth) {
			mountsOf(b, core.Mount{Kind: core.MountEmpty, Target: "/proc/self/fd"})
		}},
	"a directory on a file": {step: "mount /etc/passwd", call: "move_mount", errno: unix.EINVAL,
		prepare: func(dir string, _ *Command, b *core.Birth) {
			mountsOf(b, core.Mount{Kind: core.MountBind, Source: dir, Target: "/etc/passwd"})
		}},
	"the working directory is hidden": {step: "chdir", call: "chdir", errno: unix.ENOENT, user: true,
		prepare: func(dir string, _ *Command, b *core.Birth) {
			must(os.Mkdir(dir+"/in", 0o777))
			must(os.Chdir(dir + "/in"))
			mountsOf(b, core.Mount{Kind: core.MountEmpty, Target: dir})
		}},
}

func own(kinds ...string) map[string]string {
	m := map[string]string{}
	for _, k := range kinds {
		m[k], _ = os.Readlink("/proc/self/ns/" + k)
	}
	return m
}

// TestNamespaces: a process is in new namespaces of the kinds it asked for, and
// in the caller's otherwise.
func TestNamespaces(t *testing.T) {
	needRoot(t)
	kinds := map[string]core.Namespaces{
		"user": core.NamespaceUser, "mnt": core.NamespaceMount, "pid": core.NamespacePID,
		"ipc": core.NamespaceIPC, "net": core.NamespaceNetwork,
	}
	mine := own("user", "mnt", "pid", "ipc", "net")
	for asked, bit := range kinds {
		s := observe(t, &Command{}, &core.Birth{Namespaces: bit})
		if asked == "pid" { // /proc is still that of the caller's namespace
			if s.Pid != 1 {
				t.Errorf("pid %d in a new PID namespace", s.Pid)
			}
			continue
		}
		for kind := range kinds {
			if isNew := s.Namespaces[kind] != mine[kind]; isNew != (kind == asked) {
				t.Errorf("asked for %s: %s is %s, the caller's %s", asked, kind, s.Namespaces[kind], mine[kind])
			}
		}
	}
}

func TestUserNamespaceMapsTheCaller(t *testing.T) {
	s := observe(t, &Command{}, &core.Birth{Namespaces: core.NamespaceUser})
	uid := os.Geteuid()
	if want := fmt.Sprintf("%d %[1]d 1", uid); s.UIDMap != want || s.UID != uid || s.GID != os.Getegid() {
		t.Errorf("map %q, uid %d, gid %d, want %q", s.UIDMap, s.UID, s.GID, want)
	}
	if s.Setgroups != "deny" {
		t.Errorf("setgroups %q", s.Setgroups)
	}
}

// TestPIDNamespaceWithProc: the fresh proc shows the new namespace, and the
// process outside can be waited for.
func TestPIDNamespaceWithProc(t *testing.T) {
	b := &core.Birth{
		Namespaces: core.NamespaceUser | core.NamespacePID | core.NamespaceMount,
		Mounts:     []core.Mount{{Kind: core.MountProc, Target: "/proc"}},
	}
	c := &Command{Path: "/bin/sh", Args: []string{"sh", "-c", "echo $$ /proc/[0-9]*; exit 3"}, Files: make([]*os.File, 3)}
	out, state := output(t, c, b)
	if out != "1 /proc/1\n" || state.ExitCode() != 3 {
		t.Errorf("%q, %v", out, state)
	}
}
