package landlock

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pinfold/pinfold/core"
)

// A try is one operation, what it comes to unconfined, and what confined. In its
// arguments {ws} and {out} stand for the workspace and a directory outside.
type try struct {
	op         string
	free, held string
}

// fixture makes a directory with a workspace and something outside of it.
func fixture(t *testing.T) (ws, out string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ws, out = filepath.Join(dir, "ws"), filepath.Join(dir, "out")
	for _, d := range []string{"ws/sub", "ws/empty", "ws/other", "out/dir", "out/empty"} {
		must(t, os.MkdirAll(filepath.Join(dir, d), 0o755))
	}
	for _, side := range []string{ws, out} {
		for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"} {
			must(t, os.WriteFile(filepath.Join(side, name), []byte("secret of "+filepath.Base(side)), 0o644))
		}
		must(t, os.WriteFile(filepath.Join(side, "prog"), []byte("#!/bin/sh\nexit 0\n"), 0o755))
	}
	for _, d := range []string{"sub", "other"} {
		must(t, os.WriteFile(filepath.Join(ws, d, "key"), []byte("secret key"), 0o644))
	}
	must(t, os.Symlink(filepath.Join(out, "a"), filepath.Join(ws, "abs")))
	must(t, os.Symlink("../out/a", filepath.Join(ws, "rel")))
	must(t, os.Symlink("abs", filepath.Join(ws, "chain")))
	must(t, os.Symlink("../out", filepath.Join(ws, "outdir")))
	return ws, out
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// check runs the tries twice, without and with the plan, on a fixture each.
func check(t *testing.T, tries []try, plan func(t *testing.T, ws string) *core.Plan) {
	t.Helper()
	run := func(confined bool) (words [][]string, got []string) {
		ws, out := fixture(t)
		var ops [][]string
		for _, tr := range tries {
			op := strings.Fields(tr.op)
			for i := range op {
				op[i] = strings.NewReplacer("{ws}", ws, "{out}", out).Replace(op[i])
			}
			ops = append(ops, op)
		}
		var p *core.Plan
		if confined {
			p = plan(t, ws)
		}
		return ops, doOps(t, p, ops)
	}
	_, free := run(false)
	_, held := run(true)
	for i, tr := range tries {
		if tr.free != "" && free[i] != tr.free {
			t.Errorf("%s: unconfined %s, want %s", tr.op, free[i], tr.free)
		}
		if held[i] != tr.held {
			t.Errorf("%s: confined %s, want %s", tr.op, held[i], tr.held)
		}
	}
}

var fileTries = []try{
	// The positive control: the workspace.
	{"read {ws}/a", "ok", "ok"},
	{"mmap {ws}/a", "ok", "ok"},
	{"write {ws}/a", "ok", "ok"},
	{"append {ws}/a", "ok", "ok"},
	{"otrunc {ws}/b", "ok", "ok"},
	{"truncate {ws}/b", "ok", "ok"},
	{"create {ws}/new", "ok", "ok"},
	{"tmpfile {ws}", "ok", "ok"},
	{"unlink {ws}/c", "ok", "ok"},
	{"mkdir {ws}/newdir", "ok", "ok"},
	{"rmdir {ws}/empty", "ok", "ok"},
	{"rename {ws}/d {ws}/d2", "ok", "ok"},
	{"rename {ws}/e {ws}/sub/e", "ok", "ok"},
	{"link {ws}/f {ws}/sub/f", "ok", "ok"},
	{"exchange {ws}/f {ws}/sub/e", "ok", "ok"},
	{"symlink a {ws}/s", "ok", "ok"},
	{"mkfifo {ws}/fifo", "ok", "ok"},
	{"list {ws}", "ok", "ok"},
	{"execute {ws}/prog", "ok", "ok"},
	{"execute /bin/true", "ok", "ok"},
	{"read /etc/passwd", "ok", "ok"},
	{"write /dev/null", "ok", "ok"},
	{"list /proc", "ok", "ok"},
	{"read /proc/self/environ", "ok", "ok"},

	// Outside.
	{"read {out}/a", "ok", "EACCES"},
	{"mmap {out}/a", "ok", "EACCES"},
	{"write {out}/a", "ok", "EACCES"},
	{"append {out}/a", "ok", "EACCES"},
	{"otrunc {out}/a", "ok", "EACCES"},
	{"rotrunc {out}/a", "ok", "EACCES"},
	{"truncate {out}/a", "ok", "EACCES"},
	{"create {out}/new", "ok", "EACCES"},
	{"tmpfile {out}", "ok", "EACCES"},
	{"mkdir {out}/newdir", "ok", "EACCES"},
	{"rmdir {out}/empty", "ok", "EACCES"},
	{"symlink a {out}/s", "ok", "EACCES"},
	{"mkfifo {out}/fifo", "ok", "EACCES"},
	{"list {out}", "ok", "EACCES"},
	{"list /", "ok", "EACCES"},
	{"execute {out}/prog", "ok", "EACCES"},
	{"unlink {out}/b", "ok", "EACCES"},
	{"rename {out}/c {out}/c2", "ok", "EACCES"},

	// In and out. The kernel says EXDEV where a copy would be allowed.
	{"rename {out}/d {ws}/stolen", "ok", "EACCES"},
	{"rename {ws}/g {out}/g2", "ok", "EACCES"},
	{"link {out}/e {ws}/linked", "ok", "EXDEV"},
	{"link {ws}/h {out}/h2", "ok", "EACCES"},
	{"exchange {out}/f {ws}/h", "ok", "EACCES"},

	// Links to a secret.
	{"read {ws}/abs", "ok", "EACCES"},
	{"read {ws}/rel", "ok", "EACCES"},
	{"read {ws}/chain", "ok", "EACCES"},
	{"read {ws}/outdir/a", "ok", "EACCES"},
	{"write {ws}/abs", "ok", "EACCES"},
	{"read {ws}/../out/a", "ok", "EACCES"},
	{"read /proc/self/root{out}/a", "ok", "EACCES"},
	{"read /proc/self/cwd/../../../../../../../..{out}/a", "ok", "EACCES"},

	// What Landlock does not hold, so that the report stays true.
	{"stat {out}/a", "ok", "ok"},
	{"chmod {out}/a", "ok", "ok"},
}

func TestFiles(t *testing.T) {
	needLandlock(t, 2)
	tries := slices.Clone(fileTries)
	m, err := observeMachine()
	must(t, err)
	if !supportedBy(m.abi()).has(truncation) {
		i := slices.IndexFunc(tries, func(tr try) bool { return tr.op == "truncate {ws}/b" })
		tries[i].held = "EACCES" // the filter refuses it everywhere, as is reported
	}
	check(t, tries, func(t *testing.T, ws string) *core.Plan {
		return mustPlan(t, New(), workspacePolicy(t, ws))
	})
}
