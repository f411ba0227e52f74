package cgroup

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/internal/golden"
)

func TestScopeName(t *testing.T) {
	if got := scopeName(exampleName.owner); got != "pinfold-4242-987654321.scope" || !isScopeName(got) {
		t.Error(got)
	}
	if longest := scopeName(core.Owner{PID: maxPID, Start: unlimited}); !isScopeName(longest) {
		t.Error(longest)
	}
	for _, other := range []string{
		"", ".scope", "pinfold-.scope", "pinfold-1.scope", "pinfold-1-2", "pinfold-1-2.service", "pinfold-1-2.scope.scope",
		"pinfold-0-2.scope", "pinfold--1-2.scope", "pinfold-01-2.scope", "pinfold-1-02.scope", "pinfold-+1-2.scope",
		"pinfold-1-2-3.scope", "pinfold-1-18446744073709551616.scope", "pinfold-4294967296-1.scope", "xpinfold-1-2.scope",
		"app-pinfold-1-2.scope", "pinfold-1-2.scope ", "session-1.scope", exampleText, exampleText + ".scope",
	} {
		if isScopeName(other) {
			t.Errorf("%q passes for the name of a scope", other)
		}
	}
}

func TestScopeOf(t *testing.T) {
	const scope = "/user.slice/user-1000.slice/user@1000.service/app.slice/pinfold-4242-987654321.scope"
	for cgroup, want := range map[string]string{
		scope:                   scope,
		scope + "/host":         scope,
		scope + "/host/a/b":     scope,
		scope + "/hosts":        "",
		scope + "/other/host":   "",
		scope + exampleText:     "",
		"/":                     "",
		"/user.slice":           "",
		"/host":                 "",
		"/../pinfold-1-2.scope": "/../pinfold-1-2.scope",
		// What is in a session stays there.
		scope + "/" + exampleText:                           "",
		"/" + exampleText + "/pinfold-4242-987654321.scope": "",
		scope + "/host/" + exampleText:                      "",
	} {
		got, ok := scopeOf(cgroup)
		if ok != (want != "") || ok && got != want {
			t.Errorf("scopeOf(%s) = %q, %v, want %q", cgroup, got, ok, want)
		}
	}
}

func TestCommonAncestor(t *testing.T) {
	for _, c := range [][3]string{
		{"/a/b/host", "/a/b/leaf", "/a/b"}, {"/a/b", "/a/b/leaf", "/a/b"}, {"/a/b", "/a/bc", "/a"}, {"/", "/a", "/"}, {"/x", "/a/b", "/"},
		{"/a/b", "/a/b", "/a/b"}, {"/a/b/c", "/a/b", "/a/b"},
	} {
		if got := commonAncestor(c[0], c[1]); got != c[2] {
			t.Errorf("commonAncestor(%s, %s) = %s, want %s", c[0], c[1], got, c[2])
		}
	}
}

// The host group is not a place for sessions, but its parent is.
func TestCandidatesInScope(t *testing.T) {
	h := hierarchies(parseMountinfo([]byte(unifiedMounts)))[0]
	const manager = "/user.slice/user-1000.slice/user@1000.service"
	got := h.candidates(manager + "/pinfold-1-2.scope/host")
	want := []string{"/sys/fs/cgroup" + manager + "/pinfold-1-2.scope", "/sys/fs/cgroup" + manager}
	if len(got) < 2 || !slices.Equal(got[:2], want) {
		t.Errorf("%q", got)
	}
	inside := manager + "/pinfold-1-2.scope/" + exampleText + "/nested"
	got = h.candidates(inside)
	if !slices.Equal(got, []string{"/sys/fs/cgroup" + inside, "/sys/fs/cgroup" + manager + "/pinfold-1-2.scope/" + exampleText}) {
		t.Errorf("in a session: %q", got)
	}
}

// machines are users' surroundings of different kinds.
var machines = []struct {
	what  string
	s     surroundings
	files []string
	buses []string
}{
	{"a login", surroundings{busAddress: "unix:path=/run/user/1000/bus", runtimeDir: "/run/user/1000"},
		[]string{"/run/user/1000", "/run/user/1000/bus"}, []string{"/run/user/1000/bus"}},
	{"a login without the address", surroundings{runtimeDir: "/run/user/1000"},
		[]string{"/run/user/1000", "/run/user/1000/bus"}, []string{"/run/user/1000/bus"}},
	{"another bus first", surroundings{busAddress: "unix:abstract=/tmp/dbus-x,guid=12;tcp:host=localhost,port=1", runtimeDir: "/run/user/1000"},
		[]string{"/run/user/1000", "/run/user/1000/bus"}, []string{"@/tmp/dbus-x", "/run/user/1000/bus"}},
	{"an escaped address", surroundings{busAddress: "unix:guid=12,path=/tmp/a%20b%3b%2c"}, nil, []string{"/tmp/a b;,"}},
	{"su, while the user is logged in", surroundings{}, []string{"/run/user/1000", "/run/user/1000/bus"}, nil},
	{"no bus is installed", surroundings{runtimeDir: "/run/user/1000"}, []string{"/run/user/1000", "/run/user/1000/systemd"}, nil},
	{"su, no bus is installed", surroundings{}, []string{"/run/user/1000", "/run/user/1000/systemd"}, nil},
	{"nobody is logged in", surroundings{}, nil, nil},
	{"the directory of another user, by sudo", surroundings{runtimeDir: "/run/user/0"}, nil, nil},
	{"addresses that are none", surroundings{busAddress: "autolaunch:;unix:;unix:path=;unix:path=%zz;unix:path=relative;unixexec:path=/bin/sh;;",
		runtimeDir: "relative"}, []string{"relative/bus"}, nil},
}

func TestBuses(t *testing.T) {
	var b strings.Builder
	for _, m := range machines {
		m.s.uid = 1000
		m.s.exists = func(path string) bool { return slices.Contains(m.files, path) }
		if got := m.s.buses(); !slices.Equal(got, m.buses) {
			t.Errorf("%s: %q, want %q", m.what, got, m.buses)
		}
		if len(m.buses) == 0 {
			absence := m.s.absence()
			fmt.Fprintf(&b, "%s:\n%s\n\n", m.what, refusedScope(&absence))
		}
		text := refusedScope(m.s.notPermitted()).Error()
		if !strings.Contains(b.String(), text) {
			fmt.Fprintf(&b, "%s, without permission:\n%s\n\n", m.what, text)
		}
	}
	for _, r := range []*scopeRefusal{
		{why: "the user's service manager cannot be reached", remedy: "see whether it answers: systemctl --user status", err: syscall.ECONNREFUSED},
		{why: "the host runs in a session itself, which nothing may leave"},
	} {
		fmt.Fprintf(&b, "%s\n\n", refusedScope(r))
	}
	golden.Compare(t, "scopes.golden", b.String())
}

// refusedScope is what a person reads in a login session.
func refusedScope(r *scopeRefusal) error {
	return refused(core.StageOpen, []refusal{
		{"/sys/fs/cgroup/user.slice/user-1000.slice/session-1.scope", stepMake, syscall.EACCES, false},
		{"/sys/fs/cgroup/user.slice/user-1000.slice", stepMake, syscall.EACCES, false},
	}, r)
}

// A scope is asked for only where it would help: not where cgroups are read-only,
// or clone3 is refused.
func TestScopeWouldHelp(t *testing.T) {
	for _, c := range []struct {
		refusal
		want bool
	}{
		{refusal{step: stepMake, errno: syscall.EACCES}, true},
		{refusal{step: stepMake, errno: syscall.EPERM}, true},
		{refusal{step: stepMake, errno: syscall.EROFS}, false},
		{refusal{step: stepMake, errno: syscall.EAGAIN}, false},
		{refusal{step: stepMake, errno: syscall.ENOSPC}, false},
		{refusal{step: stepJoin, errno: syscall.EACCES}, true},
		{refusal{step: stepJoin, errno: syscall.EPERM}, false},
		{refusal{step: stepJoin, errno: syscall.ENOSYS}, false},
		{refusal{step: stepJoin, errno: syscall.EINVAL}, false},
		{refusal{step: stepJoin, errno: syscall.EAGAIN}, false},
		{refusal{step: stepJoin, errno: syscall.EOPNOTSUPP}, true},
		{refusal{step: stepJoin, killed: true}, true},
	} {
		if got := scopeWouldHelp(c.refusal); got != c.want {
			t.Errorf("%+v: %v", c.refusal, got)
		}
		err := refused(core.StageOpen, []refusal{c.refusal}, &scopeRefusal{why: "WHY", remedy: "REMEDY"})
		if says := strings.Contains(err.Error(), "WHY"); says != c.want || !errors.Is(err, err.Reason) || err.Remedy == "" {
			t.Errorf("%v", err)
		}
	}
}

func TestScopeProperties(t *testing.T) {
	var b strings.Builder
	for _, p := range scopeProperties(4242) {
		fmt.Fprintf(&b, "%s: %T %v\n", p.Name, p.Value, p.Value)
	}
	golden.Compare(t, "scope.golden", b.String())
}
