package cgroup

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/pinfold/pinfold/core"
)

// A scope is a unit of systemd whose cgroup is handed to whoever asked for it
// (systemd.scope(5), Delegate= in systemd.resource-control(5)). A host that may be
// moved gets one of its own, and with it a cgroup in which this user may start
// processes, which a login session is not:
//
//	pinfold-PID-START.scope   made by the user manager, named after the host
//	├── host                  the host
//	└── pinfold-1000-…        the sessions
//
// The host has a cgroup of its own in it because a cgroup has processes or
// controllers for those below it, not both (cgroups(7), "no internal processes").

const (
	scopePrefix = "pinfold-"
	scopeSuffix = ".scope"
	hostGroup   = "host"
)

// scopeName returns the name of the scope for a host. One host gets one scope:
// systemd refuses to make a second one of the same name.
func scopeName(o core.Owner) string {
	return fmt.Sprintf("%s%d-%d%s", scopePrefix, o.PID, o.Start, scopeSuffix)
}

// isScopeName reports whether scopeName returns s for some host.
func isScopeName(s string) bool {
	between, ok := strings.CutPrefix(s, scopePrefix)
	between, isScope := strings.CutSuffix(between, scopeSuffix)
	pid, start, both := strings.Cut(between, "-")
	var o core.Owner
	var pidErr, startErr error
	o.PID, pidErr = strconv.Atoi(pid)
	o.Start, startErr = strconv.ParseUint(start, 10, 64)
	return ok && isScope && both && pidErr == nil && startErr == nil && o.PID > 0 && o.PID <= maxPID && scopeName(o) == s
}

// scopeOf returns the scope that a host in a cgroup was moved to: the cgroup
// itself, or that above its host group. In a session there is none: what it is in
// may not be left.
func scopeOf(cgroup string) (string, bool) {
	if inSession(cgroup) {
		return "", false
	}
	for dir := cgroup; dir != "/" && dir != "."; dir = path.Dir(dir) {
		if isScopeName(path.Base(dir)) {
			rest, _ := below(cgroup, dir)
			return dir, rest == "" || within(rest, "/"+hostGroup)
		}
	}
	return "", false
}

// inSession reports whether a cgroup is that of a session, or below one.
func inSession(cgroup string) bool {
	for element := range strings.SplitSeq(cgroup, "/") {
		if _, ok := parseLeafName(element); ok {
			return true
		}
	}
	return false
}

// unlimited is systemd's word for no limit (CGROUP_LIMIT_MAX).
const unlimited = ^uint64(0)

// A property is one setting of a unit, with a value in the type that the D-Bus
// interface of systemd wants (org.freedesktop.systemd1(5)).
type property struct {
	Name  string
	Value any
}

// scopeProperties are the settings of the scope for a host.
func scopeProperties(pid int) []property {
	return []property{
		{"Description", fmt.Sprintf("Pinfold sessions of process %d", pid)},
		{"PIDs", []uint32{uint32(pid)}},
		{"Delegate", true},
		// The scope of a host that failed goes like any other (systemd 236).
		{"CollectMode", "inactive-or-failed"},
		// A login session bounds no tasks, and the user manager's own default
		// would be a new limit to the host.
		{"TasksMax", unlimited},
	}
}
