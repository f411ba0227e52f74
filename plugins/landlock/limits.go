//go:build linux

package landlock

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
)

// noCore is the limit that forbids core dumps both ways. A file needs at least a
// page; and a dump piped to a program ignores every limit but the value 1, which
// the kernel keeps for refusing it (do_coredump in fs/coredump.c).
const noCore = 1

// processLimits returns the resource limits that a process is born with, and the
// finding, nil if the policy asks for none of this backend's.
func (d *design) processLimits(l core.LimitsPolicy) ([]core.ResourceLimit, *core.Finding) {
	var limits []core.ResourceLimit
	add := func(r core.Resource, n uint64) {
		limits = append(limits, core.ResourceLimit{Resource: r, Soft: n, Hard: n})
	}
	if l.OpenFiles > 0 {
		add(core.ResourceOpenFiles, l.OpenFiles)
	}
	if l.FileSize > 0 {
		add(core.ResourceFileSize, l.FileSize)
	}
	if l.NoCore {
		add(core.ResourceCore, noCore)
	}
	if len(limits) == 0 {
		return nil, nil
	}
	f := &core.Finding{Dimension: core.Limits, Level: core.Enforced, Mechanism: "resource limits of each process"}
	switch {
	case d.has(unix.CAP_SYS_RESOURCE):
		f.Level = core.Partial
		f.Gap = "a process with CAP_SYS_RESOURCE can raise its own limits"
		f.Remedy = "use a policy that confines, or run as a user without that capability"
	case l.NoCore && d.machine.pipesCore():
		f.Level = core.Partial
		f.Gap = "core dumps go to a program here, and a process that sets its own limit to 0 has them again"
		f.Remedy = "set the sysctl kernel.core_pattern to a file name"
	}
	return limits, f
}

// dumpsToProgram reports whether core dumps are piped to a program (core(5)).
// A pattern that cannot be read counts as one.
func dumpsToProgram() bool {
	text, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	return err != nil || strings.HasPrefix(string(text), "|")
}
