package policyfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/internal/golden"
)

// The mistakes that a person makes, one file each, and what is said of them.
func TestErrors(t *testing.T) {
	var b strings.Builder
	for _, text := range mistakes {
		p, err := Parse("policy.toml", []byte(text), "/w")
		var e *Error
		if !errors.As(err, &e) || !errors.Is(err, core.ErrInvalidPolicy) {
			t.Errorf("%q gives %v, policy %+v", text, err, p)
			continue
		}
		for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
			fmt.Fprintf(&b, "%2d  %s\n", i+1, printableText(line))
		}
		fmt.Fprintf(&b, "%v\n\n", err)
	}
	golden.Compare(t, "errors.txt", b.String())
}

var mistakes = []string{
	"preset = read-only\n",
	"preset = \"read-only\n",
	"preset = 1\n",
	"preset = \"everything\"\n",
	"preset = \"\"\n",
	"preset = \"read-only\"\npreset = \"unrestricted\"\n",
	"prest = \"read-only\"\n",
	"colour = \"blue\"\n",
	"workspace = \"/\"\n",
	"[filesytem]\nread = [\"/srv\"]\n",
	"[filesystem]\nreads = [\"/srv\"]\n",
	"[network]\nallow = true\n",
	"[filesystem]\nread = \"/srv\"\n",
	"[filesystem]\nread = [\"/srv\", 1]\n",
	"[filesystem]\nread = [\n  \"/srv\",\n  \"\",\n]\n",
	"[filesystem]\nread = [\"/a\\u0000b\"]\n",
	"preset = \"unrestricted\"\n\n[filesystem]\n\ndeny = [\"/srv\"]\n",
	"preset = \"unrestricted\"\n[filesystem]\nsystem = true\n",
	"[[filesystem.rule]]\npath = \"/srv\"\n",
	"[[filesystem.rule]]\npath = \"/a\"\naccess = [\"read\"]\n[[filesystem.rule]]\npath = \"/b\"\naccess = [\"read\",\n  \"delete\"]\n",
	"[[filesystem.rule]]\naccess = [\"read\"]\n",
	"[[filesystem.rule]]\npath = \"/a\"\nacess = [\"read\"]\n",
	"filesystem = { rule = [ { path = \"/a\", access = [\n \"reed\" ] } ] }\n",
	"require = [\n  \"network\",\n  \"fs.raed\"\n]\n",
	"[network]\nmode = \"open\"\n",
	"[network]\nmode = \"all\"\nconnect = [443]\n",
	"[network]\nconnect = [0]\n",
	"[network]\nbind = [-1]\n",
	"[network]\nbind = [65536]\n",
	"[network]\nconnect = [\"https\"]\n",
	"preset = \"unrestricted\"\n[network]\nconnect = [443]\n",
	"preset = \"unrestricted\"\n[unix]\nconnect = [\"/run/x\"]\n",
	"[unix]\nconnect = [\"\"]\n",
	"[unix]\nmode = \"all\"\n",
	"[environment]\npass = [\"A=B\"]\n",
	"[environment]\npass = [\"\"]\n",
	"[environment]\nset = [\"A=B\"]\n",
	"[environment.set]\nA = 1\n",
	"[environment.set]\n\"A=B\" = \"x\"\n",
	"[environment.set]\nA = \"x\\u0000\"\n",
	"[limits]\nprocesses = 0\n",
	"[limits]\nprocesses = -5\n",
	"[limits]\nprocesses = \"many\"\n",
	"[limits]\nprocesses = 99999999999999999999\n",
	"[limits]\nmemory = \"2 gigabytes\"\n",
	"[limits]\nmemory = \"2gib\"\n",
	"[limits]\nmemory = \"\"\n",
	"[limits]\nmemory = \"GiB\"\n",
	"[limits]\nmemory = \"+2GiB\"\n",
	"[limits]\nmemory = \"0GiB\"\n",
	"[limits]\nmemory = \"99999999TiB\"\n",
	"[limits]\nmemory = 1.5\n",
	"[limits]\nmemory = -1\n",
	"[limits]\nfile_size = true\n",
	"[limits]\ncore_dumps = \"no\"\n",
	"best_effort = \"yes\"\n",
	"network = 5\n",
	"[filesystem]\nrule = [\"/srv\"]\n",
	"\x00\n",
	"preset = \"\xff\"\n",
	"\"\\u001b[31m\" = 1\n",
}

func TestWholeFile(t *testing.T) {
	text, err := os.ReadFile("testdata/whole.toml")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Parse("whole.toml", text, "/w")
	if err != nil {
		t.Fatal(err)
	}
	// The preset's own rules are the preset's matter.
	preset := core.ReadOnly("/w")
	p.Filesystem.Rules = p.Filesystem.Rules[len(preset.Filesystem.Rules):]
	p.Environment.Pass = p.Environment.Pass[len(preset.Environment.Pass):]
	want := core.Policy{
		Name: "whole.toml", Workspace: "/w", Confine: true, BestEffort: true,
		Require: append(preset.Require, core.Signals, core.Limits),
		Filesystem: core.Filesystem{Confined: true, Rules: []core.PathRule{
			{Path: "~/.cargo", Access: core.Read, Origin: "whole.toml:7"},
			{Path: "/opt/data", Access: core.Read, Origin: "whole.toml:8"},
			{Path: "out", Access: core.Read | core.Write, Origin: "whole.toml:10"},
			{Path: "/opt/tool", Access: core.Read | core.Execute, Origin: "whole.toml:11"},
			{Path: ".env", Access: core.AllAccess, Deny: true, Origin: "whole.toml:12"},
			{Path: ".git/config", Access: core.Write, Deny: true, Optional: true, Origin: "whole.toml:14"},
			{Path: "/log", Access: core.Write, Origin: "whole.toml:20"},
		}},
		Network:     core.NetworkPolicy{Mode: core.NetworkPorts, Connect: []uint16{443, 80}, Bind: []uint16{0}},
		Unix:        core.UnixPolicy{Mode: core.UnixNone, Connect: []string{"/run/db.sock"}},
		Environment: core.EnvironmentPolicy{Pass: []string{"GITHUB_*"}, Set: []string{"A=1", "B=two words"}},
		Limits:      core.LimitsPolicy{Processes: 200, Memory: 2 << 30, OpenFiles: 1024, FileSize: 500_000_000, NoCore: true},
	}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("got  %+v\nwant %+v", p, want)
	}
}

// The example of the documentation is a valid file with every key in it.
func TestDocumentation(t *testing.T) {
	source, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var example strings.Builder
	for line := range strings.Lines(string(source)) {
		if code, ok := strings.CutPrefix(line, "//\t"); ok {
			example.WriteString(code)
		}
	}
	if _, err := Parse("doc.go", []byte(example.String()), "/w"); err != nil {
		t.Error(err)
	}
	for table, names := range keys {
		for _, name := range names {
			if !strings.Contains(example.String(), name) {
				t.Errorf("the example does not show %s.%s", table, name)
			}
		}
	}
}

func TestEmptyFileIsTheDefaultPreset(t *testing.T) {
	p, err := Parse("p", nil, "/w")
	want := core.WorkspaceWrite("/w")
	want.Name = "p"
	if err != nil || !reflect.DeepEqual(p, want) {
		t.Errorf("%v, %+v", err, p)
	}
}

// keys has what document has.
func TestKeys(t *testing.T) {
	got := map[string][]string{}
	var collect func(table string, typ reflect.Type)
	collect = func(table string, typ reflect.Type) {
		for i := range typ.NumField() {
			name := typ.Field(i).Tag.Get("toml")
			got[table] = append(got[table], name)
			field := typ.Field(i).Type
			if field.Kind() == reflect.Slice {
				field = field.Elem()
			}
			if field.Kind() == reflect.Struct {
				collect(strings.TrimPrefix(table+"."+name, "."), field)
			}
		}
	}
	collect("", reflect.TypeFor[document]())
	for table := range got {
		want := slices.Sorted(slices.Values(keys[table]))
		if have := slices.Sorted(slices.Values(got[table])); !slices.Equal(have, want) {
			t.Errorf("[%s] has %q, and keys %q", table, have, want)
		}
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	if _, err := Load(filepath.Join(dir, "none"), "/w"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if _, err := Load(dir, "/w"); err == nil || !strings.Contains(err.Error(), "directory") {
		t.Errorf("a directory: %v", err)
	}
	long := filepath.Join(dir, "long")
	if err := os.WriteFile(long, []byte("preset = \"read-only\"\n#"+strings.Repeat("x", MaxSize)), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(long, "/w"); err == nil || !strings.Contains(err.Error(), "longer than 1048576 bytes") {
		t.Errorf("a file that is too long: %v", err)
	}
	odd := filepath.Join(dir, "o\x1b[31md")
	if err := os.WriteFile(odd, []byte("x = 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(odd, "/w"); err == nil || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("a name that would act on the terminal: %v", err)
	}
}
