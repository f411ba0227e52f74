//go:build linux

package landlock

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pinfold/pinfold/core"
)

// A machine is what the confiner found out about the system and about the
// privileges of its own process, which the host has as well.
type machine struct {
	// release is the kernel's ("6.18.44").
	release string
	// landlock is what the kernel said to the question for the ABI.
	landlock landlockState
	// kernelABI is the kernel's answer, 0 if it has no Landlock.
	kernelABI int
	// errata is the kernel's set of fixed errata, -1 if it can't tell.
	errata int
	// modules is the list of active security modules, "" if it can't be read.
	modules string
	// filter is nil if seccomp filters can be installed, else why not.
	filter error

	// mounter: the process has CAP_SYS_ADMIN in its user namespace.
	mounter bool
	// capabilities is the permitted set, of which a policy leaves the command some.
	capabilities uint64
	// pipesCore tells whether core dumps go to a program, at the time of the call.
	pipesCore func() bool
}

// landlockState says whether the kernel has Landlock and if not, why.
type landlockState int

const (
	landlockActive landlockState = iota + 1
	landlockNotBuilt
	landlockDisabled
	landlockRefused
)

// abi returns the version to use: the kernel's, or the newest known here.
func (m *machine) abi() int { return min(m.kernelABI, newestABI()) }

// observedLandlock says what the machine has, for the Observed of a finding.
func (m *machine) observedLandlock() string {
	switch m.landlock {
	case landlockActive:
		if m.kernelABI > newestABI() {
			return fmt.Sprintf("Landlock ABI %d, used as %d (Linux %s)", m.kernelABI, newestABI(), m.release)
		}
		return fmt.Sprintf("Landlock ABI %d (Linux %s)", m.kernelABI, m.release)
	case landlockNotBuilt:
		return fmt.Sprintf("Landlock is not built into this kernel (Linux %s)", m.release)
	case landlockDisabled:
		text := "Landlock is built into this kernel but not enabled: the boot parameter lsm= lacks landlock"
		if m.modules != "" {
			text += fmt.Sprintf(" (active: %s)", m.modules)
		}
		return text
	}
	return "the system calls of Landlock are refused here, by a container's filter most likely"
}

// landlockRemedy says how to get a Landlock that has what want needs.
func (m *machine) landlockRemedy(want rights) string {
	switch m.landlock {
	case landlockActive:
		return fmt.Sprintf("run on Linux %s or later", firstWith(want).kernel)
	case landlockNotBuilt:
		return fmt.Sprintf("run on Linux %s or later, built with CONFIG_SECURITY_LANDLOCK=y and started with landlock in the boot parameter lsm=",
			firstWith(want).kernel)
	case landlockDisabled:
		active := m.modules
		if active == "" {
			active = "(the present list)"
		}
		return fmt.Sprintf("add landlock to the boot parameter lsm=, as in lsm=landlock,%s, and restart", active)
	}
	return "let landlock_create_ruleset, landlock_add_rule and landlock_restrict_self through in the container's seccomp profile"
}

// filterRemedy says how to get seccomp filters.
const filterRemedy = "run on a kernel with CONFIG_SECCOMP_FILTER, on amd64 or arm64"

// facts are what the findings rest on, and the table of versions.
func (m *machine) facts() []core.Fact {
	facts := []core.Fact{
		{Name: "kernel", Value: "Linux " + m.release},
		{Name: "Landlock", Value: strings.TrimPrefix(m.observedLandlock(), "Landlock ")},
	}
	if m.landlock == landlockActive {
		facts = append(facts, core.Fact{Name: "Landlock errata fixed", Value: errataText(m.errata)})
	}
	if m.modules != "" {
		facts = append(facts, core.Fact{Name: "security modules", Value: m.modules})
	}
	filter := "available"
	if m.filter != nil {
		filter = m.filter.Error()
	}
	return append(facts,
		core.Fact{Name: "seccomp filters", Value: filter},
		core.Fact{Name: "denials inside grants", Value: yesOr(m.mounter, "no: CAP_SYS_ADMIN is missing")},
	)
}

// versionFacts is the table of Landlock's versions, seen from this machine.
func (m *machine) versionFacts() []core.Fact {
	var facts []core.Fact
	for _, a := range abis[1:] {
		has := "here"
		if a.version > m.kernelABI {
			has = "missing"
		}
		facts = append(facts, core.Fact{Name: a.String(), Value: has + ": " + a.gives})
	}
	return facts
}

func yesOr(yes bool, no string) string {
	if yes {
		return "yes"
	}
	return no
}

// errataText lists the numbers of the errata whose bit is set.
func errataText(set int) string {
	if set < 0 {
		return "unknown: this kernel cannot tell"
	}
	var numbers []string
	for i := range 31 {
		if set&(1<<i) != 0 {
			numbers = append(numbers, strconv.Itoa(i+1))
		}
	}
	if len(numbers) == 0 {
		return "none"
	}
	return strings.Join(numbers, ", ")
}
