//go:build linux

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pinfold/pinfold/core"
)

// report is what the tests read of a report.
type report struct {
	Session     string
	Policy      string
	Workspace   string
	Enforcement struct {
		Dimensions []struct {
			Dimension core.Dimension
			Level     core.Level
		}
	}
	Withheld []string
	Commands []struct {
		Args     []string
		ExitCode int    `json:"exit_code"`
		Signal   string `json:"signal"`
	}
	Left *struct {
		Outcome string
		Killed  int
	}
	ExitStatus int                   `json:"exit_status"`
	TimedOut   *struct{ Killed int } `json:"timed_out"`
}

func parse(t *testing.T, text string) *report {
	t.Helper()
	r := &report{}
	if err := json.Unmarshal([]byte(text), r); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return r
}

func TestReport(t *testing.T) {
	p := newPlace(t)
	p.env = append(p.env, "API_TOKEN=hunter2")
	path := filepath.Join(p.workspace, "report.json")
	if err := os.WriteFile(path, []byte("old, and longer than nothing"), 0o666); err != nil {
		t.Fatal(err)
	}
	r := p.pinfold("run", "-q", "--report", "report.json", "--", "sh", "-c", "sleep 1006 & exit 3")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got := parse(t, string(text))
	if r.status != 3 || got.ExitStatus != 3 || got.Policy != "workspace-write" || got.Workspace != p.workspace {
		t.Errorf("status %d, report %+v", r.status, got)
	}
	if got.Left == nil || got.Left.Killed != 1 || got.Left.Outcome != "proved empty" {
		t.Errorf("left: %+v", got.Left)
	}
	if len(got.Commands) != 1 || got.Commands[0].ExitCode != 3 || got.Commands[0].Args[2] != "sleep 1006 & exit 3" {
		t.Errorf("commands: %+v", got.Commands)
	}
	if !strings.Contains(strings.Join(got.Withheld, " "), "API_TOKEN") || strings.Contains(string(text), "hunter2") {
		t.Errorf("the report must name the variable that was withheld, without its value: %q", got.Withheld)
	}
	enforced := map[core.Dimension]core.Level{}
	for _, f := range got.Enforcement.Dimensions {
		enforced[f.Dimension] = f.Level
	}
	for _, d := range []core.Dimension{core.FSRead, core.FSWrite, core.Network, core.Cleanup} {
		if enforced[d] != core.Enforced {
			t.Errorf("%s is %v", d, enforced[d])
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if r := p.pinfold("run", "-q", "--report", "-", "--", "echo", "output"); !strings.HasPrefix(r.stdout, "output\n{") {
		t.Errorf("--report - wrote:\n%s", r.stdout)
	}
	r = p.pinfold("run", "-q", "--report", "-", "--timeout", "50ms", "--", "sleep", "1007")
	if got := parse(t, r.stdout); got.ExitStatus != 124 || got.TimedOut == nil || got.TimedOut.Killed != 1 || got.Commands[0].Signal != "killed" {
		t.Errorf("after a time-out: %+v", got)
	}
}

// The command cannot lead the report astray: not by a link in place of the file,
// nor by another directory in place of the one that was meant.
func TestReportWithHostileCommand(t *testing.T) {
	p := newPlace(t)
	outside := filepath.Join(filepath.Dir(p.workspace), "outside")
	dir := filepath.Join(p.workspace, "dir")
	for _, d := range []string{outside, dir} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	victim := filepath.Join(outside, "r")
	if err := os.WriteFile(victim, []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	script := "ln -s " + victim + " dir/r; mv dir moved; ln -s " + outside + " dir"
	if r := p.pinfold("run", "-q", "--report", "dir/r", "--", "sh", "-c", script); r.status != 0 {
		t.Errorf("status %d: %s", r.status, r.stderr)
	}
	if text, _ := os.ReadFile(victim); string(text) != "precious" {
		t.Errorf("the report went where the command wanted:\n%s", text)
	}
	text, err := os.ReadFile(filepath.Join(p.workspace, "moved/r"))
	if err != nil {
		t.Fatal(err)
	}
	parse(t, string(text))
}

// What exists and is no regular file is written, not replaced.
func TestReportToDevice(t *testing.T) {
	p := newPlace(t)
	if r := p.pinfold("run", "-q", "--report", "/dev/null", "--", "true"); r.status != 0 {
		t.Errorf("status %d: %s", r.status, r.stderr)
	}
	if info, err := os.Stat("/dev/null"); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		t.Fatalf("/dev/null is now %v, %v", info.Mode(), err)
	}
	r := p.pinfold("run", "-q", "--report", "/dev/full", "--", "sh", "-c", "exit 3")
	if r.status != 3 || !strings.Contains(r.stderr, `the report cannot be written to "/dev/full": no space left on device`) {
		t.Errorf("status %d: %s", r.status, r.stderr)
	}
	if r := p.pinfold("run", "-q", "--report", "/dev/full", "--", "true"); r.status != 125 {
		t.Errorf("status %d: %s", r.status, r.stderr)
	}
}
