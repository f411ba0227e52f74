package cgroup

import (
	"bytes"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
)

// obtainable returns the controllers that cgroups made below directory can
// have, without changing anything. Those that the directory's own children do
// not have yet can be given to them if this process may, and if no process is in
// the cgroup itself: a cgroup other than the root has processes or controllers
// below it, not both (cgroups(7), "no internal processes").
func obtainable(directory string) controllers {
	given := readControllers(directory + "/cgroup.subtree_control")
	available := readControllers(directory + "/cgroup.controllers")
	if available&^given == 0 || unix.Access(directory+"/cgroup.subtree_control", unix.W_OK) != nil {
		return given
	}
	isRoot := unix.Access(directory+"/cgroup.type", unix.F_OK) == unix.ENOENT
	if !isRoot {
		if text, err := readFile(unix.AT_FDCWD, directory+"/cgroup.procs"); err != nil || len(bytes.TrimSpace(text)) > 0 {
			return given
		}
	}
	return given | available
}

func readControllers(file string) controllers {
	text, err := readFile(unix.AT_FDCWD, file)
	if err != nil {
		return 0
	}
	return parseControllers(text)
}

// limit applies limits to the session and reports what holds. A limit that is
// not applied is a finding. An error is a limit that the kernel would not take
// although the controller is there.
func (l *leaf) limit(limits core.LimitsPolicy, mounts []mount) (core.Finding, error) {
	need := needs(limits)
	got, problem := l.enable(need)
	swap := false
	for _, s := range settings(limits) {
		if got&s.controller == 0 {
			continue
		}
		err := writeFile(l.fd, s.file, s.value)
		if s.optional && errors.Is(err, unix.ENOENT) {
			swap = hasSwap()
			continue
		}
		if err != nil {
			return core.Finding{}, failure(core.StageOpen, core.ErrNotPermitted, l.path+"/"+s.file, err, "setting a limit to "+s.value)
		}
	}
	f := limitsFinding(need, got, problem, v1Controllers(mounts))
	if swap && f.Level == core.Enforced {
		f.Level = core.Partial
		f.Gap = "memory that is swapped out is not counted: this kernel has no memory.swap.max"
		f.Remedy = "start the kernel with swapaccount=1, or turn swap off"
	}
	return f, nil
}

// hasSwap reports whether memory can be swapped out: /proc/swaps has a line for
// each area below its heading. If it cannot tell, there is swap.
func hasSwap() bool {
	text, err := readFile(unix.AT_FDCWD, "/proc/swaps")
	return err != nil || bytes.Count(text, []byte("\n")) > 1
}

// enable gives the session's cgroup the controllers that it needs, as far as
// possible, and says what the kernel refused. It is done when the cgroup exists
// already, so that the parent cannot vanish.
func (l *leaf) enable(need controllers) (got controllers, problem string) {
	parent := l.parent()
	for _, known := range controllerNames {
		if need&known.bit == 0 {
			continue
		}
		if readControllers(l.path+"/cgroup.controllers")&known.bit == 0 {
			if readControllers(parent+"/cgroup.controllers")&known.bit == 0 {
				continue
			}
			if err := writeFile(unix.AT_FDCWD, parent+"/cgroup.subtree_control", "+"+known.name); err != nil {
				problem = fmt.Sprintf("the kernel refused the %s controller below %q: %v", known.name, parent, errnoOf(err))
				continue
			}
		}
		got |= known.bit
	}
	return got, problem
}
