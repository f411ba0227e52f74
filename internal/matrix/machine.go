package main

import (
	"regexp"
	"slices"
	"strings"
)

// machine is one column of the matrix: a kernel, how it was started, and as whom pinfold runs on it.
type machine struct {
	kernel  string // the series, such as 6.12
	user    string
	lsm     string // withLandlock or withoutLandlock
	cgroups string // pure, hybrid or legacy
}

// The kernels have Landlock ABI none, 2, 6 and 10; 5.10 lacks cgroup.kill too.
var kernels = []string{"5.10", "6.1", "6.12", "7.2"}

// The users are root; a service of the system that runs as a normal user; that user in a login session; and in a service of
// the user's own service manager. On one machine they come in this order: a user manager that runs already would be in the way
// of the service, which is about having none.
var users = []string{"root", "service", "session", "user"}

const (
	withLandlock    = ""
	withoutLandlock = "no Landlock"

	pure   = "" // all controllers in cgroup v2
	hybrid = "hybrid cgroups"
	legacy = "no cgroup v2"
)

// parameters are what the kernel is started with for each variant.
var parameters = map[string]string{
	withoutLandlock: "lsm=lockdown,yama",
	hybrid:          "systemd.unified_cgroup_hierarchy=0",
	legacy:          "systemd.unified_cgroup_hierarchy=0 systemd.legacy_systemd_cgroup_controller=1",
}

func (m machine) name() string {
	return strings.Join(append([]string{m.kernel, m.user}, m.variant()...), ", ")
}

// variant is what is unusual about how the kernel was started.
func (m machine) variant() []string {
	return slices.DeleteFunc([]string{m.lsm, m.cgroups}, func(s string) bool { return s == "" })
}

// shown tells whether the machine is in the table of README.md, and so in make matrix.
func (m machine) shown() bool {
	return len(m.variant()) == 0 && (m.user == "root" || m.user == "session")
}

// machines are those of the matrix, in the order of the tables. Linux 5.10 has no Landlock to switch off.
func machines(all bool, only *regexp.Regexp) []machine {
	var found []machine
	for _, lsm := range []string{withLandlock, withoutLandlock} {
		for _, cgroups := range []string{pure, hybrid, legacy} {
			for _, kernel := range kernels {
				if kernel == "5.10" && lsm == withoutLandlock {
					continue
				}
				for _, user := range users {
					m := machine{kernel, user, lsm, cgroups}
					if (all || m.shown()) && only.MatchString(m.name()) {
						found = append(found, m)
					}
				}
			}
		}
	}
	return found
}

// order is the place of a machine in the tables, -1 for one that is not in the matrix.
func order(name string) int {
	all := machines(true, regexp.MustCompile(""))
	return slices.IndexFunc(all, func(m machine) bool { return m.name() == name })
}

// boot is a start of a virtual machine, which serves all users of one kernel and variant.
type boot struct {
	machine
	users []string
}

func (b boot) name() string { return strings.Join(append([]string{b.kernel}, b.variant()...), ", ") }

// as is the machine of the boot as one user sees it.
func (b boot) as(user string) machine {
	m := b.machine
	m.user = user
	return m
}

func boots(machines []machine) []boot {
	var found []boot
	for _, m := range machines {
		user := m.user
		m.user = ""
		if n := len(found); n > 0 && found[n-1].machine == m {
			found[n-1].users = append(found[n-1].users, user)
			continue
		}
		found = append(found, boot{m, []string{user}})
	}
	return found
}
