package landlock

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
)

// denying is the preset workspace-write with denials of things in the workspace.
func denying(t *testing.T, ws string, rules ...core.PathRule) core.Policy {
	p := workspacePolicy(t, ws)
	for _, r := range rules {
		r.Deny = true
		if !strings.HasPrefix(r.Path, "/") {
			r.Path = filepath.Join(ws, r.Path)
		}
		p.Filesystem.Rules = append(p.Filesystem.Rules, r)
	}
	return p
}

// findingFor is the plan's finding about the rule that has these words in it.
func findingFor(t *testing.T, plan *core.Plan, words string) core.Finding {
	t.Helper()
	for _, f := range plan.Enforcement.Rules {
		if strings.Contains(f.Rule, words) {
			return f
		}
	}
	t.Fatalf("no finding about %q in %+v", words, plan.Enforcement.Rules)
	return core.Finding{}
}

func needMounts(t *testing.T) {
	t.Helper()
	needLandlock(t, 2)
	if m, err := observeMachine(); err != nil || !m.mounter {
		t.Skip("needs CAP_SYS_ADMIN, to deny parts of what is granted")
	}
}

func TestDenials(t *testing.T) {
	needMounts(t)
	tries := []try{
		// The directory sub is denied altogether.
		{"list {ws}/sub", "ok", "ok"}, // an empty one, without permissions: root lists it
		{"read {ws}/sub/key", "ok", "ENOENT"},
		{"write {ws}/sub/key", "ok", "ENOENT"},
		{"create {ws}/sub/new", "ok", "EROFS"},
		{"rename {ws}/a {ws}/sub/a", "ok", "EXDEV"},
		{"umount {ws}/sub", "EINVAL", "EPERM"},
		{"rmdir {ws}/sub", "ENOTEMPTY", "EBUSY"},
		// The file b is denied altogether: what is there is empty.
		{"readable {ws}/b secret", "ok", "other content"},
		{"write {ws}/b", "ok", "EROFS"},
		{"unlink {ws}/b", "ok", "EBUSY"},
		{"rename {ws}/c {ws}/b", "ok", "EBUSY"},
		// In other, only writing is.
		{"list {ws}/other", "ok", "ok"},
		{"read {ws}/other/key", "ok", "ok"},
		{"write {ws}/other/key", "ok", "EROFS"},
		{"create {ws}/other/new", "ok", "EROFS"},
		{"unlink {ws}/other/key", "ok", "EROFS"},
		// Beside them, nothing changes.
		{"write {ws}/d", "ok", "ok"},
		{"create {ws}/new", "ok", "ok"},
	}
	check(t, tries, func(t *testing.T, ws string) *core.Plan {
		plan := mustPlan(t, New(), denying(t, ws,
			core.PathRule{Path: "sub", Access: core.AllAccess},
			core.PathRule{Path: "b", Access: core.Read | core.Write},
			core.PathRule{Path: "other", Access: core.Write}))
		for _, words := range []string{"deny read+write+execute", "deny read+write ", "deny write"} {
			if f := findingFor(t, plan, words); f.Level != core.Enforced {
				t.Errorf("%+v", f)
			}
		}
		return plan
	})
}

// TestMovedParent: what leads to a denied path cannot be moved aside, so nothing
// else can be put in the path's place, in this launch and in the next.
func TestMovedParent(t *testing.T) {
	needMounts(t)
	moves := func(ws string) [][]string {
		return [][]string{
			{"rename", ws + "/sub/deep", ws + "/sub/moved"},
			{"mkdir", ws + "/sub/deep"},
			{"rename", ws + "/sub", ws + "/moved"},
			{"mkdir", ws + "/sub"},
			{"exchange", ws + "/sub", ws + "/other"},
			{"write", ws + "/sub/deep/hooks/pre-commit"},
			{"create", ws + "/sub/deep/hooks/post-commit"},
			{"write", ws + "/sub/deep/config"},
			{"create", ws + "/sub/deep/new"},
			{"rename", ws + "/sub/deep/config", ws + "/sub/deep/config2"},
		}
	}
	prepared := func() string {
		ws, _ := fixture(t)
		must(t, os.MkdirAll(filepath.Join(ws, "sub/deep/hooks"), 0o755))
		for _, file := range []string{"sub/deep/config", "sub/deep/hooks/pre-commit"} {
			must(t, os.WriteFile(filepath.Join(ws, file), []byte("x"), 0o755))
		}
		return ws
	}
	free := doOps(t, nil, moves(prepared()))
	if !slices.Equal(free[:4], []string{"ok", "ok", "ok", "ok"}) {
		t.Errorf("unconfined: %v", free)
	}
	ws := prepared()
	plan := mustPlan(t, New(), denying(t, ws, core.PathRule{Path: "sub/deep/hooks", Access: core.Write}))
	want := []string{"EBUSY", "EEXIST", "EBUSY", "EEXIST", "EBUSY", "EROFS", "EROFS", "ok", "ok", "ok"}
	if got := doOps(t, plan, moves(ws)); !slices.Equal(got, want) {
		t.Errorf("confined: %v, want %v", got, want)
	}
	if f := findingFor(t, plan, "deny "); f.Level != core.Enforced || !strings.Contains(f.Remedy, "cannot be renamed") {
		t.Errorf("%+v", f)
	}
}

// TestNestedDenials: a pin of one denial does not open what another one closes.
func TestNestedDenials(t *testing.T) {
	needMounts(t)
	ws, _ := fixture(t)
	must(t, os.MkdirAll(filepath.Join(ws, "sub/a/b/c"), 0o755))
	must(t, os.WriteFile(filepath.Join(ws, "sub/a/b/c/key"), []byte("secret"), 0o644))
	plan := mustPlan(t, New(), denying(t, ws,
		core.PathRule{Path: "sub/a/b/c", Access: core.Read},
		core.PathRule{Path: "sub/a", Access: core.Write},
		core.PathRule{Path: "sub/a/b", Access: core.Write}))
	got := doOps(t, plan, [][]string{
		{"create", ws + "/sub/a/new"}, {"create", ws + "/sub/a/b/new"}, {"read", ws + "/sub/a/b/c/key"},
		{"list", ws + "/sub/a/b"}, {"create", ws + "/sub/new"}, {"rename", ws + "/sub", ws + "/moved"},
	})
	if want := []string{"EROFS", "EROFS", "ENOENT", "ok", "ok", "EBUSY"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestOtherNames: a second mount point of a denied directory is denied as well, and
// a hard link is reported.
func TestOtherNames(t *testing.T) {
	needMounts(t)
	ws, _ := fixture(t)
	secret, alias := filepath.Join(ws, "sub"), filepath.Join(ws, "other")
	must(t, os.WriteFile(filepath.Join(secret, "key"), []byte("secret"), 0o644))
	must(t, unix.Mount(secret, alias, "", unix.MS_BIND, ""))
	t.Cleanup(func() { must(t, unix.Unmount(alias, 0)) })
	must(t, os.Link(filepath.Join(ws, "a"), filepath.Join(ws, "a-too")))

	plan := mustPlan(t, New(), denying(t, ws,
		core.PathRule{Path: "sub", Access: core.AllAccess}, core.PathRule{Path: "a", Access: core.AllAccess}))
	ops := [][]string{
		{"read", filepath.Join(secret, "key")}, {"read", filepath.Join(alias, "key")},
		{"create", filepath.Join(secret, "new")}, {"create", filepath.Join(alias, "new")},
	}
	got := doOps(t, plan, ops)
	for i, want := range []string{"ENOENT", "ENOENT", "EROFS", "EROFS"} {
		if got[i] != want {
			t.Errorf("%v: %s, want %s", ops[i], got[i], want)
		}
	}
	if f := findingFor(t, plan, ws+"/a"); f.Level != core.Partial || !strings.Contains(f.Gap, "hard links") {
		t.Errorf("%+v", f)
	}
	for i, free := range doOps(t, nil, ops[:2]) {
		if free != "ok" {
			t.Errorf("unconfined %v: %s", ops[i], free)
		}
	}
}

func TestDenialWithoutMounts(t *testing.T) {
	m, err := observeMachine()
	must(t, err)
	if m.landlock != landlockActive {
		t.Skip(m.observedLandlock())
	}
	m.mounter = false
	c := confinerOn(m)
	ws, out := fixture(t)
	for _, test := range []struct {
		name  string
		rule  core.PathRule
		level core.Level
		gap   string
	}{
		{"inside a grant", core.PathRule{Path: "sub", Access: core.Read}, core.Unsupported, "no denials"},
		{"outside of every grant", core.PathRule{Path: out, Access: core.Read}, core.Enforced, ""},
		{"not there, inside a grant", core.PathRule{Path: ".git/hooks", Access: core.Write}, core.Unsupported, "can create it"},
		{"not there, optional", core.PathRule{Path: ".git/hooks", Access: core.Write, Optional: true}, core.Skipped, "does not exist"},
		{"not there, outside", core.PathRule{Path: out + "/x", Access: core.Write}, core.Enforced, ""},
		{"another access", core.PathRule{Path: "/usr/bin", Access: core.Write}, core.Enforced, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			plan := mustPlan(t, c, denying(t, ws, test.rule))
			f := findingFor(t, plan, "deny ")
			if f.Level != test.level || !strings.Contains(f.Gap, test.gap) {
				t.Errorf("%+v", f)
			}
			if len(plan.Birth.Mounts) > 0 {
				t.Errorf("mounts: %v", plan.Birth.Mounts)
			}
		})
	}
}

// TestDenialBeatsGrant: denying what a grant is about, or more, takes it away
// whatever the order.
func TestDenialBeatsGrant(t *testing.T) {
	needLandlock(t, 2)
	ws, out := fixture(t)
	grant := core.PathRule{Path: filepath.Join(out, "dir"), Access: core.Read | core.Write}
	same := core.PathRule{Path: grant.Path, Access: core.Write, Deny: true}
	above := core.PathRule{Path: out, Access: core.AllAccess, Deny: true}
	m, err := observeMachine()
	must(t, err)
	for _, test := range []struct {
		name                string
		rules               []core.PathRule
		list, create, level string
	}{
		{"granted", []core.PathRule{grant}, "ok", "ok", "enforced"},
		{"write denied after", []core.PathRule{grant, same}, "ok", "EACCES", "enforced"},
		{"write denied before", []core.PathRule{same, grant}, "ok", "EACCES", "enforced"},
		{"all denied above", []core.PathRule{grant, above}, "EACCES", "EACCES", "skipped"},
		{"all denied above, before", []core.PathRule{above, grant}, "EACCES", "EACCES", "skipped"},
	} {
		t.Run(test.name, func(t *testing.T) {
			os.Remove(filepath.Join(grant.Path, "new"))
			p := workspacePolicy(t, ws)
			p.Filesystem.Rules = append(p.Filesystem.Rules, test.rules...)
			plan := mustPlan(t, confinerOn(unprivileged(*m)), p)
			got := doOps(t, plan, [][]string{{"list", grant.Path}, {"create", filepath.Join(grant.Path, "new")}})
			if got[0] != test.list || got[1] != test.create {
				t.Errorf("list %s, create %s", got[0], got[1])
			}
			if f := findingFor(t, plan, "read+write "+grant.Path); f.Level.String() != test.level {
				t.Errorf("%+v", f)
			}
			if len(plan.Birth.Mounts) > 0 {
				t.Errorf("mounts for nothing: %v", plan.Birth.Mounts)
			}
		})
	}
}

// TestDeviceAlias: container engines hide files behind /dev/null. Denying such a
// file leaves /dev/null alone.
func TestDeviceAlias(t *testing.T) {
	needMounts(t)
	ws, _ := fixture(t)
	masked := filepath.Join(ws, "a")
	must(t, unix.Mount("/dev/null", masked, "", unix.MS_BIND, ""))
	t.Cleanup(func() { must(t, unix.Unmount(masked, 0)) })
	plan := mustPlan(t, New(), denying(t, ws, core.PathRule{Path: "a", Access: core.Read | core.Write}))
	got := doOps(t, plan, [][]string{{"write", "/dev/null"}, {"write", masked}})
	if got[0] != "ok" || got[1] != "EROFS" {
		t.Errorf("/dev/null: %s, the masked file: %s", got[0], got[1])
	}
}
