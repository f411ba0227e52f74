package landlock

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
)

// TestOlderKernels runs plans for older versions of Landlock on this kernel: what
// they say about themselves has to be what happens.
func TestOlderKernels(t *testing.T) {
	needLandlock(t, 0)
	for version := range newestABI() + 1 {
		t.Run(fmt.Sprintf("ABI %d", version), func(t *testing.T) {
			c := simulated(t, version)
			checkVersion(t, c, version)
		})
	}
}

func checkVersion(t *testing.T, c *Confiner, version int) {
	binary := publicBinary(t)
	ws, out := fixture(t)
	ownedByUser(t, filepath.Dir(ws))
	pid := bystander(t, binary, userOrSelf())
	p := workspacePolicy(t, ws)
	p.Filesystem.Rules = append(p.Filesystem.Rules, core.PathRule{Path: binary, Access: core.Read | core.Execute})
	p.BestEffort = true
	plan := mustPlan(t, confinerOn(unprivileged(*c.known)), p)

	// Each operation is an attempt against one dimension: if that is enforced, it
	// fails, and if it is unsupported, it works.
	attempts := []struct {
		dimension core.Dimension
		op        string
	}{
		{core.FSRead, "read " + out + "/a"},
		{core.FSRead, "list " + out},
		{core.FSWrite, "write " + out + "/a"},
		{core.FSWrite, "truncate " + out + "/a"},
		{core.FSWrite, "rotrunc " + out + "/a"},
		{core.FSWrite, "open3 " + out + "/a"},
		{core.FSWrite, "touch " + out + "/new"},
		{core.FSMetadata, "chmod " + out + "/b"},
		{core.Network, "udp 9"},
		{core.UnixSockets, "unixserve @pinfold-test-" + core.NewSessionID().String()},
		{core.Signals, "kill " + pid},
		{core.Tracing, "readlink /proc/" + pid + "/cwd"},
		{core.Privileges, "unshare " + fmt.Sprint(unix.CLONE_NEWUSER)},
	}
	var ops [][]string
	for _, a := range attempts {
		ops = append(ops, strings.Fields(a.op))
	}
	held := doOpsAs(t, plan, userOrSelf(), binary, ops)
	free := doOpsAs(t, nil, userOrSelf(), binary, ops)
	for i, a := range attempts {
		f := plan.Enforcement.Dimension(a.dimension)
		if f == nil {
			t.Fatalf("%s is not reported", a.dimension)
		}
		if free[i] != "ok" && a.dimension != core.Privileges {
			t.Errorf("%s: unconfined %s", a.op, free[i])
		}
		if f.Level == core.Enforced && held[i] == "ok" || f.Level == core.Unsupported && held[i] != "ok" {
			t.Errorf("%s: confined %s, and %s is reported as %v", a.op, held[i], f.Dimension, f.Level)
		}
	}
	if version > 0 && plan.Enforcement.Dimension(core.FSWrite).Level != core.Enforced {
		t.Errorf("writing is not enforced: %+v", plan.Enforcement.Dimension(core.FSWrite))
	}
	if !strings.Contains(plan.Listing, "ABI "+fmt.Sprint(version)+"\n") && version > 0 {
		t.Errorf("the listing names another version:\n%s", plan.Listing)
	}
}

// userOrSelf is a normal user if the tests run as root: what root's capabilities
// open is TestOtherProcesses's subject.
func userOrSelf() uint32 {
	if unix.Geteuid() == 0 {
		return 65534
	}
	return 0
}

// ownedByUser gives a fixture to userOrSelf, so that only the plan is in the way.
func ownedByUser(t *testing.T, dir string) {
	t.Helper()
	if userOrSelf() == 0 {
		return
	}
	must(t, os.Chmod(filepath.Dir(dir), 0o755))
	must(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(userOrSelf()), int(userOrSelf()))
	}))
}

// TestMovesByVersion: what version 1 cannot do is in the report of the rule.
func TestMovesByVersion(t *testing.T) {
	for version, want := range map[int]string{1: "EXDEV", 2: "ok"} {
		c := simulated(t, version)
		ws, _ := fixture(t)
		plan := mustPlan(t, c, workspacePolicy(t, ws))
		got := doOps(t, plan, [][]string{{"rename", ws + "/a", ws + "/sub/a"}, {"rename", ws + "/b", ws + "/b2"}})
		if got[0] != want || got[1] != "ok" {
			t.Errorf("ABI %d: %s across directories, want %s; %s in one", version, got[0], want, got[1])
		}
		f := findingFor(t, plan, "read+write+execute "+ws)
		if said := strings.Contains(f.Gap, "cannot be renamed"); said != (want != "ok") {
			t.Errorf("ABI %d: %+v", version, f)
		}
	}
}

// TestGrantsBeyondTheKernel: what cannot be granted alone is not granted, and the
// rule says so.
func TestGrantsBeyondTheKernel(t *testing.T) {
	needLandlock(t, 2)
	o := serveOutside(t)
	p := workspacePolicy(t, t.TempDir())
	p.Network = core.NetworkPolicy{Mode: core.NetworkPorts, Connect: []uint16{toPort(t, o.granted)}}
	p.Unix.Connect = []string{o.path}
	plan := mustPlan(t, simulated(t, 2), p)
	for _, test := range []struct{ rule, required string }{
		{"connect TCP port " + o.granted, "Landlock ABI 4 (Linux 6.7)"},
		{"connect " + o.path, "Landlock ABI 9 (Linux 7.1)"},
	} {
		if f := findingFor(t, plan, test.rule); f.Level != core.Unsupported || f.Required != test.required {
			t.Errorf("%+v, want unsupported and %s", f, test.required)
		}
	}
	got := doOps(t, plan, [][]string{{"tcp4", o.granted}, {"unix", o.path}})
	if !slices.Equal(got, []string{"EACCES", "EACCES"}) {
		t.Errorf("closed sockets: %v", got)
	}
}

// TestWithoutLandlock: seccomp's part is there all the same.
func TestWithoutLandlock(t *testing.T) {
	needLandlock(t, 0)
	ws, out := fixture(t)
	plan := mustPlan(t, simulated(t, 0), denying(t, ws, core.PathRule{Path: "sub", Access: core.Write}))
	if len(plan.Birth.Landlock) > 0 || len(plan.Birth.Seccomp) != 1 || !plan.Birth.NoNewPrivileges {
		t.Errorf("%d rulesets, %d filters, no_new_privs %v", len(plan.Birth.Landlock), len(plan.Birth.Seccomp), plan.Birth.NoNewPrivileges)
	}
	got := doOps(t, plan, [][]string{{"read", out + "/a"}, {"udp", "9"}})
	if !slices.Equal(got, []string{"ok", "EACCES"}) {
		t.Errorf("reading outside and a socket: %v", got)
	}
	for _, f := range plan.Enforcement.Rules {
		want := core.Skipped
		if strings.HasPrefix(f.Rule, "deny ") {
			want = core.Unsupported
		}
		if f.Level != want || f.Gap == "" || want == core.Unsupported && f.Remedy == "" {
			t.Errorf("%+v", f)
		}
	}
	if f := findingFor(t, plan, "deny "); f.Dimension != core.FSWrite {
		t.Errorf("%+v", f)
	}
}
