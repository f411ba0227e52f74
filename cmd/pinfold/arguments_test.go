//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pinfold/pinfold/internal/golden"
)

// Each of these is refused before anything is started.
func TestBadArguments(t *testing.T) {
	p := newPlace(t)
	for name, text := range map[string]string{
		"unknown.toml":   "preset = \"read-only\"\n\n[filesystem]\nraed = [\"/srv\"]\n",
		"malformed.toml": "preset = \"read-only\"\nrequire = [\"signals\"\nbest_effort = false\n",
		"port.toml":      "[network]\nconnect = [\n  443,\n  70000,\n]\n",
		"climb.toml":     "[filesystem]\nread = [\"../../etc\"]\n",
	} {
		if err := os.WriteFile(filepath.Join(p.workspace, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	command := []string{"--", "touch", "ran"}
	var b strings.Builder
	for _, args := range [][]string{
		{"run"},
		{"run", "--"},
		{"run", "--", ""},
		{"run", "--no-such-flag", "true"},
		{"run", "--timeout", "soon", "true"},
		append([]string{"run", "--timeout", "-1s"}, command...),
		append([]string{"run", "--quiet", "-v"}, command...),
		append([]string{"run", "--preset", "everything"}, command...),
		append([]string{"run", "--preset", "read-only", "--policy", "unknown.toml"}, command...),
		append([]string{"run", "--policy", ""}, command...),
		append([]string{"run", "--policy", "no-such.toml"}, command...),
		append([]string{"run", "--policy", "."}, command...),
		append([]string{"run", "--policy", "unknown.toml"}, command...),
		append([]string{"run", "--policy", "malformed.toml"}, command...),
		append([]string{"run", "--policy", "port.toml"}, command...),
		append([]string{"run", "--policy", "climb.toml"}, command...),
		append([]string{"run", "--workspace", "/"}, command...),
		append([]string{"run", "--workspace", "/no/such/directory"}, command...),
		append([]string{"run", "--workspace", "unknown.toml"}, command...),
		append([]string{"run", "--read", ""}, command...),
		append([]string{"run", "--preset", "unrestricted", "--read", "/srv"}, command...),
		append([]string{"run", "--net", "some"}, command...),
		append([]string{"run", "--net", "all", "--connect", "443"}, command...),
		append([]string{"run", "--connect", "https"}, command...),
		append([]string{"run", "--connect", "0"}, command...),
		append([]string{"run", "--bind", "65536"}, command...),
		append([]string{"run", "--preset", "unrestricted", "--connect", "443"}, command...),
		append([]string{"run", "--env", "=value"}, command...),
		append([]string{"run", "--require", "everything"}, command...),
		append([]string{"run", "--confiner", "no-such"}, command...),
		append([]string{"run", "--tracker", "./no-such"}, command...),
		{"no-such-command"},
		{"kill"},
		{"kill", "0"},
		{"kill", "00000000-no-such"},
		{"sessions", "extra"},
		{"backend", "no-such"},
		{"backend", "describe"},
		{"backend", "describe", "no-such"},
	} {
		r := p.pinfold(args...)
		fmt.Fprintf(&b, "$ pinfold %s\n%s%s[%d]\n\n", shellWords(args), r.stdout, r.stderr, r.status)
	}
	golden.Compare(t, "bad-arguments.txt", strings.ReplaceAll(b.String(), p.workspace, "WORKSPACE"))
	if _, err := os.Stat(filepath.Join(p.workspace, "ran")); err == nil {
		t.Error("something was started")
	}
}

func shellWords(words []string) string {
	var quoted []string
	for _, word := range words {
		if word == "" {
			word = "''"
		}
		quoted = append(quoted, word)
	}
	return strings.Join(quoted, " ")
}

func TestHelp(t *testing.T) {
	p := newPlace(t)
	for _, words := range [][]string{
		nil, {"run"}, {"doctor"}, {"sessions"}, {"kill"}, {"sweep"}, {"backend"}, {"backend", "describe"}, {"version"},
	} {
		r := p.pinfold(append(words, "--help")...)
		if r.status != 0 || r.stderr != "" {
			t.Errorf("%v --help: status %d\n%s", words, r.status, r.stderr)
		}
		golden.Compare(t, filepath.Join("help", strings.Join(append([]string{"pinfold"}, words...), "-")+".txt"), r.stdout)
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if r := p.pinfold("completion", shell); r.status != 0 || !strings.Contains(r.stdout, "pinfold") {
			t.Errorf("completion %s: status %d", shell, r.status)
		}
	}
}

// Any file name that the system allows can be granted, and no other is.
func TestOddNames(t *testing.T) {
	p := newPlace(t)
	outside := filepath.Join(filepath.Dir(p.workspace), "outside")
	for _, name := range []string{"new\nline", "quo'te\"s", "sp ace", "not\xffutf8", "-dash", "~", "*", "back\\slash", "a,b"} {
		path := filepath.Join(outside, name)
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(path, "file")
		if err := os.WriteFile(file, []byte("content"), 0o644); err != nil {
			t.Fatal(err)
		}
		if r := p.pinfold("run", "-q", "--", "cat", file); r.status == 0 {
			t.Errorf("%q is read without a grant", name)
		}
		for _, grant := range []string{path, filepath.Join("../outside", name)} {
			if r := p.pinfold("run", "-q", "--read", grant, "--", "cat", file); r.stdout != "content" {
				t.Errorf("--read %q: status %d\n%s", grant, r.status, r.stderr)
			}
		}
	}
}
