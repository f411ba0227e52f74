//go:build unix

package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/pinfold/pinfold/core"
)

// place makes a home with a workspace in it, outside of both a secret, and links.
func place(t *testing.T) (home, ws string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home, ws = filepath.Join(base, "home"), filepath.Join(base, "home/ws")
	for _, dir := range []string{ws + "/sub", base + "/secrets", base + "/homely"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		ws + "/out": base + "/secrets", ws + "/in": "sub", ws + "/nowhere": base + "/later", ws + "/loop": "loop",
		base + "/toWs": ws, base + "/toHome": home,
	} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(ws+"/file", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	return home, ws
}

func TestSettlePaths(t *testing.T) {
	home, ws := place(t)
	for path, want := range map[string]string{
		"/usr/lib/../bin": "/usr/bin", "/": "/", "//etc///x/": "/etc/x",
		"sub": ws + "/sub", "./sub/x": ws + "/sub/x", "sub/../other": ws + "/other", ".": ws, "~x": ws + "/~x",
		"~": home, "~/": home, "~/.profile": home + "/.profile", "~/a/../b": home + "/b",
		"in": ws + "/in", "in/deep": ws + "/in/deep", "missing/deep": ws + "/missing/deep",
		"..": "!leads out of", "sub/../..": "!leads out of", "~/..": "!leads out of", "../ws2": "!leads out of",
		"out": "!by a symbolic link", "out/key": "!by a symbolic link", "nowhere": "!by a symbolic link", "loop/x": "!by a symbolic link",
		"": "!a path is empty", "a\x00b": "!NUL", "/a\x00b": "!NUL",
	} {
		p := core.WorkspaceWrite(ws)
		p.Filesystem.Rules = append(p.Filesystem.Rules, core.PathRule{Path: path, Access: core.Read, Origin: "--read"})
		compare(t, path, p, want, func(s core.Policy) string { return s.Filesystem.Rules[len(s.Filesystem.Rules)-1].Path })
		p = core.WorkspaceWrite(ws)
		p.Unix.Connect = []string{path}
		compare(t, "socket "+path, p, want, func(s core.Policy) string { return s.Unix.Connect[0] })
	}
	// What is denied may be anywhere.
	p := core.WorkspaceWrite(ws)
	p.Filesystem.Rules = append(p.Filesystem.Rules, core.PathRule{Path: "out", Access: core.Read, Deny: true})
	if _, err := Settle(p); err != nil {
		t.Error(err)
	}
}

func TestSettleWorkspaces(t *testing.T) {
	home, ws := place(t)
	base := filepath.Dir(home)
	for path, want := range map[string]string{
		ws: ws, ws + "/sub/..": ws, base + "/toWs": ws, base + "/toWs/sub": ws + "/sub", base + "/homely": base + "/homely",
		"": "!is not set", "ws": "!not an absolute path", "/x\x00y": "!NUL", ws + "/missing": "!cannot be used", ws + "/file": "!not a directory",
		"/": "!root of the filesystem", "/..": "!root of the filesystem", home: "!contains the home", base: "!contains the home",
		base + "/toHome": "!contains the home", home + "/ws/..": "!contains the home", ws + "/nowhere": "!cannot be used", ws + "/loop": "!cannot be used",
	} {
		compare(t, path, core.WorkspaceWrite(path), want, func(s core.Policy) string { return s.Workspace })
	}
	settled, err := Settle(core.WorkspaceWrite(base + "/toWs"))
	if err != nil {
		t.Fatal(err)
	}
	if rule := settled.Filesystem.Rules[len(settled.Filesystem.Rules)-1]; rule.Path != ws {
		t.Errorf("the workspace's own rule is for %q", rule.Path)
	}
}

// compare settles a policy. A want that begins with ! is part of an error.
func compare(t *testing.T, name string, p core.Policy, want string, got func(core.Policy) string) {
	t.Helper()
	settled, err := Settle(p)
	if text, fails := strings.CutPrefix(want, "!"); fails {
		if !errors.Is(err, core.ErrInvalidPolicy) || !strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v, want an error with %q", name, err, text)
		}
		return
	}
	if err != nil {
		t.Errorf("%q: %v", name, err)
	} else if got(settled) != want {
		t.Errorf("%q became %q, want %q", name, got(settled), want)
	}
}

func TestSettleRefusesContradictions(t *testing.T) {
	_, ws := place(t)
	for name, change := range map[string]func(*core.Policy){
		"no network mode":            func(p *core.Policy) { p.Network.Mode = 0 },
		"an unknown network mode":    func(p *core.Policy) { p.Network.Mode = core.NetworkUnconfined + 1 },
		"no unix mode":               func(p *core.Policy) { p.Unix.Mode = 0 },
		"ports without their mode":   func(p *core.Policy) { p.Network.Bind = []uint16{80} },
		"sockets without their mode": func(p *core.Policy) { p.Unix = core.UnixPolicy{Mode: core.UnixUnconfined, Connect: []string{"/s"}} },
		"rules without confinement":  func(p *core.Policy) { p.Filesystem.Confined = false },
		"a rule without access":      func(p *core.Policy) { p.Filesystem.Rules[0].Access = 0 },
		"an unknown access":          func(p *core.Policy) { p.Filesystem.Rules[0].Access = 1 << 9 },
		"an unknown dimension":       func(p *core.Policy) { p.Require = append(p.Require, "luck") },
		"a variable without value":   func(p *core.Policy) { p.Environment.Set = []string{"NAME"} },
		"a variable without name":    func(p *core.Policy) { p.Environment.Set = []string{"=value"} },
		"a variable with NUL":        func(p *core.Policy) { p.Environment.Set = []string{"A=\x00"} },
		"the zero policy":            func(p *core.Policy) { *p = core.Policy{Workspace: ws} },
	} {
		p := core.WorkspaceWrite(ws)
		change(&p)
		if _, err := Settle(p); !errors.Is(err, core.ErrInvalidPolicy) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The caller's policy stays as it is, also while sessions of it are open.
func TestPoliciesAreNotChanged(t *testing.T) {
	_, ws := place(t)
	p := core.WorkspaceWrite(ws)
	p.Filesystem.Rules = append(make([]core.PathRule, 0, 100), append(p.Filesystem.Rules, core.PathRule{Path: "sub", Access: core.Read})...)
	p.Unix.Connect = append(make([]string, 0, 10), "sub/socket")
	p.Environment.Set = append(make([]string, 0, 10), "A=1")
	before := core.WorkspaceWrite(ws)
	before.Filesystem.Rules = append(before.Filesystem.Rules, core.PathRule{Path: "sub", Access: core.Read})
	before.Unix.Connect, before.Environment.Set = []string{"sub/socket"}, []string{"A=1"}
	h, _ := fakeHost(t, &fakeConfiner{}, &fakeTracker{})
	for range 2 {
		s, err := h.Open(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		mustEnd(t, s)
	}
	if !reflect.DeepEqual(p, before) {
		t.Errorf("the policy is now %+v", p)
	}
	if rest := p.Filesystem.Rules[len(p.Filesystem.Rules):cap(p.Filesystem.Rules)]; rest[0].Path != "" {
		t.Errorf("the policy's array now has %+v", rest[0])
	}
}
