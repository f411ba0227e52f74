//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestExitStatus(t *testing.T) {
	p := newPlace(t)
	script := filepath.Join(p.workspace, "script")
	for name, text := range map[string]string{
		"script": "#!/bin/sh\nexit 9\n", "lost": "#!/no/such/interpreter\n", "garbage": "\x7fELF garbage",
	} {
		if err := os.WriteFile(filepath.Join(p.workspace, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(p.workspace, "data"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(filepath.Dir(p.workspace), "outside program")
	copyFile(t, "/bin/true", outside)
	for _, test := range []struct {
		name   string
		args   []string
		status int
		stderr string // a part of it
	}{
		{"success", []string{"--", "true"}, 0, ""},
		{"no dashes", []string{"sh", "-c", "exit 4"}, 4, ""},
		{"the command's own", []string{"--", "sh", "-c", "exit 3"}, 3, ""},
		{"the command's own 125", []string{"--", "sh", "-c", "exit 125"}, 125, ""},
		{"a script", []string{"--", "./script"}, 9, ""},
		{"an absolute path", []string{"--", script}, 9, ""},
		{"killed", []string{"--", "sh", "-c", "kill -KILL $$"}, 137, ""},
		{"terminated", []string{"--", "sh", "-c", "kill -TERM $$"}, 143, ""},
		{"time-out", []string{"--timeout", "50ms", "--", "sleep", "1000"}, 124, "the time of 50ms was up: killed 1 process (sleep "},
		{"in time", []string{"--timeout", "1h", "--", "sh", "-c", "exit 6"}, 6, ""},
		{"not found in PATH", []string{"--", "no-such-command"}, 127, `"no-such-command": command not found`},
		{"no such path", []string{"--", "./no-such"}, 127, `"./no-such" cannot be executed: no such file or directory`},
		{"no interpreter", []string{"--", "./lost"}, 127, "its interpreter or dynamic loader does not"},
		{"no program", []string{"--", "./garbage"}, 126, "exec format error"},
		{"not executable", []string{"--", "./data"}, 126, `"./data" cannot be executed: permission denied`},
		{"a directory", []string{"--", "./"}, 126, `"./" cannot be executed`},
		{"not granted", []string{"--", outside}, 126, "(--exec '" + outside + "' would)"},
		{"granted", []string{"--exec", outside, "--", outside}, 0, ""},
		{"no writable report", []string{"--report", "/no/such/dir/r", "--", "touch", "ran"}, 125, "the report cannot be written to \"/no/such/dir/r\""},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := p.pinfold(append([]string{"run"}, test.args...)...)
			if r.status != test.status || !strings.Contains(r.stderr, test.stderr) {
				t.Errorf("status %d, want %d; stderr should have %q:\n%s", r.status, test.status, test.stderr, r.stderr)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(p.workspace, "ran")); err == nil {
		t.Error("the command ran although its report could not be written")
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}
