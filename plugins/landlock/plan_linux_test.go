package landlock

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/internal/golden"
)

// everyRule is a policy that uses every kind of rule, in a fixture.
func everyRule(ws, out string) core.Policy {
	p := core.WorkspaceWrite(ws)
	p.Filesystem.System = false
	p.Filesystem.Rules = append(dropHome(p.Filesystem.Rules),
		core.PathRule{Path: out + "/dir", Access: core.Read},
		core.PathRule{Path: out + "/a", Access: core.Read | core.Write},
		core.PathRule{Path: out + "/prog", Access: core.Execute},
		core.PathRule{Path: out + "/no", Access: core.Read, Optional: true},
		core.PathRule{Path: ws + "/abs", Access: core.Read},
		core.PathRule{Path: ws + "/sub", Access: core.Read, Deny: true},
		core.PathRule{Path: ws + "/other", Access: core.Write, Deny: true},
		core.PathRule{Path: ws + "/a", Access: core.Read, Deny: true},
	)
	p.Network = core.NetworkPolicy{Mode: core.NetworkPorts, Connect: []uint16{443, 80}, Bind: []uint16{0}}
	p.Limits = core.LimitsPolicy{OpenFiles: 256, FileSize: 1 << 30, NoCore: true}
	return p
}

// TestListing holds what a plan comes to on one kernel, in the kernel's words.
func TestListing(t *testing.T) {
	needLandlock(t, 7)
	m := userMachine(7)
	m.mounter = true
	c := confinerOn(m)
	ws, out := fixture(t)
	plan := mustPlan(t, c, everyRule(ws, out))
	root := filepath.Dir(ws)
	text := plan.Listing[:strings.Index(plan.Listing, "# seccomp")]
	golden.Compare(t, "listing.txt", strings.ReplaceAll(text, root, "/ROOT"))

	var b strings.Builder
	for _, f := range plan.Enforcement.Rules {
		b.WriteString(strings.Join([]string{string(f.Dimension), f.Rule, f.Level.String(), f.Mechanism, f.Gap}, " | ") + "\n")
	}
	golden.Compare(t, "rules.txt", strings.ReplaceAll(b.String(), root, "/ROOT"))
}

// TestPlanIsDeterministic: the same request gives the same plan but for the files.
func TestPlanIsDeterministic(t *testing.T) {
	needLandlock(t, 0)
	ws, out := fixture(t)
	p := everyRule(ws, out)
	p.Filesystem.System = true
	p.Filesystem.Rules = append(p.Filesystem.Rules, core.PathRule{Path: "/", Access: core.Write})
	constraint := core.Constraint{Kind: core.NoWriteBelow, Path: "/sys/fs/cgroup"}
	first, second := mustPlan(t, New(), p, constraint), mustPlan(t, New(), p, constraint)
	first.Close()
	second.Close()
	if !reflect.DeepEqual(first, second) {
		t.Errorf("two plans of one request differ:\n%+v\n%+v", first, second)
	}
}

func TestPlanCloses(t *testing.T) {
	needLandlock(t, 0)
	c := New()
	first, err := c.Plan(t.Context(), &core.PlanRequest{Policy: workspacePolicy(t, t.TempDir())})
	must(t, err)
	must(t, first.Close())
	before := openFiles(t) // with the names of /etc that are kept open
	for range 3 {
		plan, err := c.Plan(t.Context(), &core.PlanRequest{Policy: workspacePolicy(t, t.TempDir())})
		must(t, err)
		must(t, plan.Close())
		must(t, plan.Close())
	}
	// A plan that fails half-way leaves nothing open either.
	p := workspacePolicy(t, t.TempDir())
	p.Filesystem.Rules = append(p.Filesystem.Rules, core.PathRule{Path: "/" + strings.Repeat("x", 5000), Access: core.Read})
	if _, err := c.Plan(t.Context(), &core.PlanRequest{Policy: p}); !errors.Is(err, core.ErrInvalidPolicy) {
		t.Errorf("a path of 5000 bytes: %v", err)
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d descriptors open, %d before", after, before)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(entries)
}

// TestPaths: what the report says of a path, and what it is worth.
func TestPaths(t *testing.T) {
	needLandlock(t, 2)
	ws, out := fixture(t)
	must(t, os.Symlink("loop", filepath.Join(ws, "loop")))
	must(t, os.Symlink("/proc/self/cwd", filepath.Join(ws, "magic")))
	deleted := filepath.Join(out, "x (deleted)")
	must(t, os.Mkdir(deleted, 0o755))
	must(t, os.Symlink(deleted, filepath.Join(ws, "to-deleted")))
	for _, test := range []struct {
		path, rule string
		level      core.Level
		gap        string
	}{
		{out + "/a", out + "/a", core.Enforced, ""},
		{ws + "/abs", "(" + out + "/a)", core.Enforced, ""},
		{ws + "/chain", "(" + out + "/a)", core.Enforced, ""},
		{ws + "/outdir/dir", "(" + out + "/dir)", core.Enforced, ""},
		{ws + "/to-deleted", "x (deleted)", core.Enforced, ""},
		{out + "/no", out + "/no", core.Skipped, "does not exist; nothing was granted"},
		{out + "/a/b", out + "/a/b", core.Skipped, "does not exist; nothing was granted"},
		{ws + "/loop", ws + "/loop", core.Skipped, "loop"},
		{ws + "/magic", ws + "/magic", core.Skipped, "process's links"},
		{"/dev/stdin", "/dev/stdin", core.Skipped, "process's links"},
	} {
		p := workspacePolicy(t, ws)
		p.Filesystem.Rules = append(p.Filesystem.Rules, core.PathRule{Path: test.path, Access: core.Read, Origin: "test"})
		plan := mustPlan(t, New(), p)
		f := plan.Enforcement.Rules[len(plan.Enforcement.Rules)-1]
		if f.Level != test.level || !strings.Contains(f.Rule, test.rule) || !strings.Contains(f.Gap, test.gap) {
			t.Errorf("%s: %+v", test.path, f)
		}
		if test.level == core.Skipped && doOps(t, plan, [][]string{{"list", out}})[0] != "EACCES" {
			t.Errorf("%s: its parent was granted instead", test.path)
		}
	}
}

// TestStrangeNames: a name changes no rule, and the listing stays one line a rule.
func TestStrangeNames(t *testing.T) {
	needLandlock(t, 2)
	notUTF8 := string([]byte{'a', 0xff, 'b'})
	for _, name := range []string{`a"b`, `a'b`, `a\b`, "a\nb", "a*b", "a(b)", "[ab]", "ä–ж", "a b", " a", "$(a)", "a\x1b[31m", notUTF8, "path \x7f: read_file"} {
		ws, out := fixture(t)
		dir := filepath.Join(out, name)
		must(t, os.Mkdir(dir, 0o755))
		p := workspacePolicy(t, ws)
		p.Filesystem.Rules = append(p.Filesystem.Rules, core.PathRule{Path: dir, Access: core.Read | core.Write, Origin: "test"})
		plan := mustPlan(t, New(), p)
		got := doOps(t, plan, [][]string{{"create", dir + "/new"}, {"list", dir}, {"list", out}, {"create", out + "/new"}, {"list", out + "/dir"}})
		if name != notUTF8 && !slices.Equal(got, []string{"ok", "ok", "EACCES", "EACCES", "EACCES"}) { // JSON cannot carry that one
			t.Errorf("%q: %v", name, got)
		}
		for line := range strings.Lines(plan.Listing) {
			if strings.ContainsAny(line, "\x1b\x7f") || !utf8.ValidString(line) {
				t.Errorf("%q: the listing has %q", name, line)
			}
		}
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := New().Plan(ctx, &core.PlanRequest{Policy: workspacePolicy(t, t.TempDir())}); !errors.Is(err, context.Canceled) {
		t.Errorf("a plan under a cancelled context: %v", err)
	}
	if _, err := New().Probe(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a probe under a cancelled context: %v", err)
	}
}

func TestProbe(t *testing.T) {
	got, err := New().Probe(t.Context())
	must(t, err)
	seen := map[core.Dimension]int{}
	for _, f := range got.Findings {
		seen[f.Dimension]++
		if !f.Level.Valid() {
			t.Errorf("%+v", f)
		}
	}
	for _, d := range core.Dimensions() {
		want := 1
		if d == core.Environment || d == core.Descriptors || d == core.Cleanup {
			want = 0
		}
		if seen[d] != want {
			t.Errorf("%d findings about %s", seen[d], d)
		}
	}
	if len(got.Facts) < 4+newestABI() {
		t.Errorf("%d facts", len(got.Facts))
	}
}
