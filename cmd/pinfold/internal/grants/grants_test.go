package grants

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/pinfold/pinfold/core"
)

func TestAsPolicy(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	f := Flags{
		Preset: "read-only", Workspace: "sub/../w",
		Read: []string{"../up"}, Write: []string{"/abs"}, Exec: []string{"bin"}, Deny: []string{"new\nline"},
		Connect: []string{"443", "443"}, Bind: []string{"0"},
		Env:        []string{"PASSED", "SET=a=b"},
		BestEffort: true, Require: []string{"signals", "network"},
	}
	got, err := f.Policy()
	if err != nil {
		t.Fatal(err)
	}
	workspace := filepath.Join(cwd, "w")
	want := core.ReadOnly(workspace)
	want.Filesystem.Rules = append(want.Filesystem.Rules,
		core.PathRule{Path: filepath.Join(filepath.Dir(cwd), "up"), Access: core.Read, Origin: "--read"},
		core.PathRule{Path: "/abs", Access: core.Read | core.Write, Origin: "--write"},
		core.PathRule{Path: filepath.Join(cwd, "bin"), Access: core.Read | core.Execute, Origin: "--exec"},
		core.PathRule{Path: filepath.Join(cwd, "new\nline"), Access: core.AllAccess, Deny: true, Origin: "--deny"})
	want.Network = core.NetworkPolicy{Mode: core.NetworkPorts, Connect: []uint16{443}, Bind: []uint16{0}}
	want.Environment.Pass = append(want.Environment.Pass, "PASSED")
	want.Environment.Set = []string{"SET=a=b"}
	want.BestEffort = true
	want.Require = append(want.Require, core.Signals)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestDefaults(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	f := Flags{}
	got, err := f.Policy()
	if want := core.WorkspaceWrite(cwd); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %+v", err, got)
	}
}

func TestFlagsAddToFile(t *testing.T) {
	t.Chdir(t.TempDir())
	text := "[network]\nconnect = [443]\n[filesystem]\nread = [\"data\"]\n"
	if err := os.WriteFile("p.toml", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	f := Flags{File: "p.toml", Connect: []string{"80"}, Read: []string{"more"}}
	p, err := f.Policy()
	if err != nil {
		t.Fatal(err)
	}
	if want := []uint16{443, 80}; p.Network.Mode != core.NetworkPorts || !reflect.DeepEqual(p.Network.Connect, want) {
		t.Errorf("network: %+v", p.Network)
	}
	last := p.Filesystem.Rules[len(p.Filesystem.Rules)-2:]
	if last[0].Origin != "p.toml:4" || last[0].Path != "data" || last[1].Origin != "--read" || !filepath.IsAbs(last[1].Path) {
		t.Errorf("rules: %+v", last)
	}
}

func TestNetwork(t *testing.T) {
	for _, test := range []struct {
		flags Flags
		mode  core.NetworkMode
		fails string
	}{
		{Flags{}, core.NetworkNone, ""},
		{Flags{Net: "all"}, core.NetworkAll, ""},
		{Flags{Net: "none"}, core.NetworkNone, ""},
		{Flags{Preset: "unrestricted"}, core.NetworkUnconfined, ""},
		{Flags{Preset: "unrestricted", Net: "none"}, core.NetworkNone, ""},
		{Flags{Bind: []string{"1"}}, core.NetworkPorts, ""},
		{Flags{Net: "none", Connect: []string{"1"}}, 0, "exclude each other"},
		{Flags{Net: "all", Bind: []string{"1"}}, 0, "exclude each other"},
		{Flags{Preset: "unrestricted", Bind: []string{"1"}}, 0, "nothing to add to"},
		{Flags{Connect: []string{"+1"}}, 0, "a TCP port is"},
		{Flags{Connect: []string{" 1"}}, 0, "a TCP port is"},
		{Flags{Connect: []string{"0x50"}}, 0, "a TCP port is"},
	} {
		p, err := test.flags.Policy()
		switch {
		case test.fails != "":
			if err == nil || !strings.Contains(err.Error(), test.fails) {
				t.Errorf("%+v: %v", test.flags, err)
			}
		case err != nil || p.Network.Mode != test.mode:
			t.Errorf("%+v: %v, mode %v", test.flags, err, p.Network.Mode)
		case test.mode == core.NetworkNone && !p.Requires(core.Network):
			t.Errorf("%+v: a closed network is not required", test.flags)
		}
	}
}
