package landlock

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pinfold/pinfold/core"
)

// cgroupMount is where this machine shows its cgroups, or the test is skipped.
func cgroupMount(t *testing.T) string {
	t.Helper()
	for _, dir := range []string{"/sys/fs/cgroup/unified", "/sys/fs/cgroup"} {
		if _, err := os.Stat(filepath.Join(dir, "cgroup.procs")); err == nil {
			return dir
		}
	}
	t.Skip("there is no cgroup2 filesystem in the usual places")
	return ""
}

// grantingRoot grants everything, as a policy that wants only the network held.
func grantingRoot(t *testing.T) core.Policy {
	p := workspacePolicy(t, t.TempDir())
	p.Filesystem.Rules = []core.PathRule{{Path: "/", Access: core.AllAccess, Origin: "--write"}}
	return p
}

// TestNoWriteBelow: with / granted, what the tracker forbids stays forbidden.
// Nothing of the machine's cgroups is changed: the files are opened, not written.
func TestNoWriteBelow(t *testing.T) {
	needLandlock(t, 2)
	cgroups := cgroupMount(t)
	if os.Geteuid() != 0 {
		t.Skip("needs root: a user's control could not open cgroup.procs either")
	}
	_, out := fixture(t)
	constraint := core.Constraint{Kind: core.NoWriteBelow, Path: "/sys/fs/cgroup", Why: "a process could move itself to another cgroup"}
	ops := [][]string{
		{"openwrite", cgroups + "/cgroup.procs"},
		{"openwrite", "/proc/self/root" + cgroups + "/cgroup.procs"},
		{"rmdir", cgroups + "/pinfold-test-none"},
		{"mkdir", "/sys/fs/pinfold-test"},
		{"read", cgroups + "/cgroup.procs"},
		{"write", out + "/a"},
		{"create", out + "/new"},
		{"rename", out + "/b", out + "/dir/b"},
		{"read", "/etc/shadow"},
	}
	check := func(name string, plan *core.Plan, want ...string) {
		t.Helper()
		for i, got := range doOps(t, plan, ops) {
			if want[i] != "" && got != want[i] {
				t.Errorf("%s: %v: %s, want %s", name, ops[i], got, want[i])
			}
		}
	}
	check("unconfined", nil, "ok", "ok", "ENOENT", "EPERM", "ok", "ok", "ok", "ok", "ok")
	os.Remove(out + "/new")
	must(t, os.WriteFile(out+"/b", nil, 0o644))
	check("granted", mustPlan(t, New(), grantingRoot(t)), "ok", "ok", "ENOENT", "EPERM", "ok", "ok", "ok", "ok", "ok")
	os.Remove(out + "/new")
	must(t, os.WriteFile(out+"/b", nil, 0o644))

	plan := mustPlan(t, New(), grantingRoot(t), constraint)
	check("constrained", plan, "EACCES", "EACCES", "", "EACCES", "ok", "ok", "ok", "ok", "ok")
	if c := plan.Constraints[0]; !c.Honoured || c.Constraint != constraint {
		t.Errorf("%+v", c)
	}
	if f := findingFor(t, plan, "read+write+execute /"); f.Level != core.Partial || !strings.Contains(f.Gap, "entry by entry") {
		t.Errorf("%+v", f)
	}
}

// TestNoWriteBelowOwnTree covers the shapes of grant and bound on a tree of its own.
func TestNoWriteBelowOwnTree(t *testing.T) {
	needLandlock(t, 2)
	for _, test := range []struct {
		name  string
		grant string
		bound string
		level core.Level
		held  string // outcome of creating bound/new
		free  string // outcome of creating ws/other/new
	}{
		{"above", "", "sub", core.Partial, "EACCES", "ok"},
		{"the same", "sub", "sub", core.Enforced, "EACCES", "EACCES"},
		{"below", "sub/deep", "sub", core.Enforced, "EACCES", "EACCES"},
		{"not there yet", "", "missing/sub", core.Partial, "ENOENT", "ok"},
		{"through a link", "", "link", core.Partial, "EACCES", "ok"},
		{"elsewhere", "other", "sub", core.Enforced, "EACCES", "ok"},
	} {
		t.Run(test.name, func(t *testing.T) {
			ws, _ := fixture(t)
			must(t, os.Mkdir(filepath.Join(ws, "sub/deep"), 0o755))
			must(t, os.Symlink("sub", filepath.Join(ws, "link")))
			p := workspacePolicy(t, ws)
			p.Filesystem.Rules[0] = core.PathRule{Path: filepath.Join(ws, test.grant), Access: core.Read | core.Write}
			bound := filepath.Join(ws, test.bound)
			plan := mustPlan(t, New(), p, core.Constraint{Kind: core.NoWriteBelow, Path: bound, Why: "test"})
			got := doOps(t, plan, [][]string{
				{"create", bound + "/new"}, {"create", ws + "/other/new"},
				{"mkdir", ws + "/missing"}, {"rename", ws + "/sub", ws + "/moved"}, {"rename", ws + "/sub", ws + "/other/moved"},
			})
			if got[0] != test.held || got[1] != test.free {
				t.Errorf("create in the bound: %s, beside it: %s", got[0], got[1])
			}
			for i, g := range got[2:] {
				if g != "EACCES" && g != "EXDEV" {
					t.Errorf("moving what leads there (%d): %s", i, g)
				}
			}
			if !plan.Constraints[0].Honoured {
				t.Errorf("%+v", plan.Constraints[0])
			}
			if f := findingFor(t, plan, "read+write "+filepath.Join(ws, test.grant)); f.Level != test.level {
				t.Errorf("%+v", f)
			}
		})
	}
}

func TestConstraintsUnanswerable(t *testing.T) {
	m, err := observeMachine()
	must(t, err)
	write := core.Constraint{Kind: core.NoWriteBelow, Path: "/sys/fs/cgroup", Why: "w"}
	connect := core.Constraint{Kind: core.NoConnect, Path: "/run/no/such/socket", Why: "c"}
	without := *m
	without.landlock, without.kernelABI = landlockNotBuilt, 0
	for _, test := range []struct {
		name           string
		machine        *machine
		policy         core.Policy
		write, connect bool
	}{
		{"here", m, workspacePolicy(t, t.TempDir()), m.landlock == landlockActive, m.filter == nil},
		{"no Landlock", &without, workspacePolicy(t, t.TempDir()), false, m.filter == nil},
		{"unrestricted", m, core.Unrestricted("/"), false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := confinerOn(test.machine)
			plan := mustPlan(t, c, test.policy, write, connect)
			for i, want := range []bool{test.write, test.connect} {
				if f := plan.Constraints[i]; f.Honoured != want || f.Honoured == (f.Gap != "") {
					t.Errorf("%+v, want honoured %v and otherwise a gap", f, want)
				}
			}
		})
	}
}

// TestBarredSocket: a socket that the tracker forbids is not granted, whatever it
// is called.
func TestBarredSocket(t *testing.T) {
	needLandlock(t, firstWith(pathUnix).version)
	dir := t.TempDir()
	path, link := filepath.Join(dir, "bus"), filepath.Join(dir, "link")
	l, err := net.Listen("unix", path)
	must(t, err)
	accept(t, l)
	must(t, os.Symlink("bus", link))
	p := workspacePolicy(t, t.TempDir())
	p.Unix.Connect = []string{path}
	plan := mustPlan(t, New(), p, core.Constraint{Kind: core.NoConnect, Path: link, Why: "test"})
	if got := doOps(t, plan, [][]string{{"unix", path}}); got[0] != "EACCES" {
		t.Errorf("connect: %s", got[0])
	}
	if f := findingFor(t, plan, "connect "); f.Level != core.Unsupported || !plan.Constraints[0].Honoured {
		t.Errorf("%+v, %+v", f, plan.Constraints[0])
	}
}
