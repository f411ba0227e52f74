//go:build linux && (amd64 || arm64)

package birth

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
)

// cgroup2 is where the cgroup v2 filesystem is mounted.
func cgroup2(t testing.TB) string {
	t.Helper()
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		before, after, _ := strings.Cut(s.Text(), " - ")
		if strings.HasPrefix(after, "cgroup2 ") {
			return strings.Fields(before)[4]
		}
	}
	t.Skip("needs a mounted cgroup v2 filesystem")
	return ""
}

// newCgroup makes a cgroup below this process's own.
func newCgroup(t *testing.T) *os.File {
	t.Helper()
	root := cgroup2(t)
	var own string
	for line := range strings.Lines(text0("/proc/self/cgroup")) {
		if path, ok := strings.CutPrefix(line, "0::"); ok {
			own = strings.TrimSpace(path)
		}
	}
	dir := filepath.Join(root, own, fmt.Sprintf("birth-test-%d-%s", os.Getpid(), t.Name()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skipf("needs to create a cgroup: %v", err)
	}
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil {
			t.Error(err)
		}
	})
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestCgroup: the command is born in the cgroup, also in namespaces of its own,
// and this process stays where it is.
func TestCgroup(t *testing.T) {
	cgroup := newCgroup(t)
	before := text0("/proc/self/cgroup")
	for _, ns := range []core.Namespaces{0, core.NamespaceUser, core.NamespaceUser | core.NamespaceMount} {
		s := observe(t, &Command{}, &core.Birth{Cgroup: cgroup, Namespaces: ns})
		if !strings.Contains(s.Cgroup, filepath.Base(cgroup.Name())+"\n") {
			t.Errorf("namespaces %#x: cgroup %q", ns, s.Cgroup)
		}
	}
	if after := text0("/proc/self/cgroup"); after != before {
		t.Errorf("this process moved from %q to %q", before, after)
	}
}

// TestCgroupLeftEmptyByAFailure: a command that could not be executed leaves
// nothing in its cgroup.
func TestCgroupLeftEmptyByAFailure(t *testing.T) {
	cgroup := newCgroup(t)
	_, err := Start(&Command{Path: "/nonexistent", Args: []string{"x"}}, &core.Birth{Cgroup: cgroup})
	if err == nil {
		t.Fatal("the launch succeeded")
	}
	if procs := text0(cgroup.Name() + "/cgroup.procs"); procs != "" {
		t.Errorf("processes %q", procs)
	}
}

func TestRemovedCgroup(t *testing.T) {
	cgroup := newCgroup(t)
	gone := cgroup.Name() + "/gone"
	if err := os.Mkdir(gone, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(gone)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	_, err = Start(child("exit", "0"), &core.Birth{Cgroup: f})
	e, ok := err.(*Error)
	if !ok || e.Step != "cgroup" || e.Errno != unix.ENODEV && e.Errno != unix.ENOENT {
		t.Errorf("%v", err)
	}
}
