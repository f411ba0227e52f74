package cgroup

import (
	"errors"
	"fmt"
	"slices"
	"syscall"

	"github.com/pinfold/pinfold/core"
)

// failure returns an error about path, with the errno in err if there is one.
func failure(stage core.Stage, reason core.Reason, path string, err error, detail string) *core.Error {
	e := &core.Error{Reason: reason, Stage: stage, Backend: Name, Detail: detail, Path: path}
	if errno := errnoOf(err); errno != 0 {
		e.Errno = errno
	} else {
		e.Err = err
	}
	return e
}

func errnoOf(err error) syscall.Errno {
	var errno syscall.Errno
	errors.As(err, &errno)
	return errno
}

// A refusal is the kernel's answer when a session was to be made below one
// directory.
type refusal struct {
	directory string
	step      step
	errno     syscall.Errno
	// killed: the new process was killed at its birth.
	killed bool
}

// A step is one of the things that it takes to make a session.
type step string

const (
	stepMake step = "make a cgroup"
	stepJoin step = "start a process in a new cgroup"
)

// remedies say what a person can do about a refusal. The first that fits is
// taken; the last one always does. Without a remedy it is a scope of systemd that
// would help: it is another cgroup, and the user's own.
var remedies = []struct {
	step   step // any if empty
	errnos []syscall.Errno
	reason core.Reason
	remedy string
}{
	{stepJoin, []syscall.Errno{syscall.ENOSYS, syscall.EINVAL, syscall.E2BIG}, core.ErrUnsupported,
		"starting a process in a cgroup needs Linux 5.7, and a container engine or service manager whose seccomp filter lets clone3 through"},
	{stepJoin, []syscall.Errno{syscall.EPERM}, core.ErrNotPermitted,
		"clone3 is refused, most likely by the seccomp filter of a container engine or service manager around this process: let clone3 through"},
	{stepJoin, []syscall.Errno{syscall.EAGAIN}, core.ErrUnavailable,
		"no more processes may be started: see ulimit -u and the pids.max of the cgroup"},
	{"", []syscall.Errno{syscall.EROFS}, core.ErrNotPermitted,
		"the cgroup filesystem is mounted read-only: run the program where it is mounted read-write, with a cgroup of its own"},
	{"", []syscall.Errno{syscall.EAGAIN, syscall.ENOSPC, syscall.ENOMEM}, core.ErrUnavailable,
		"the kernel's limit on cgroups is reached: see cgroup.max.descendants and cgroup.max.depth, and run pinfold sweep"},
	{"", []syscall.Errno{syscall.EACCES, syscall.EPERM}, core.ErrNotPermitted, ""},
	{"", nil, core.ErrUnsupported, ""},
}

// remedy returns the reason for an error about the refusal, and what to do about
// it, or "" if a scope would help.
func (r refusal) remedy() (core.Reason, string) {
	if r.killed {
		return core.ErrUnsupported, ""
	}
	for _, known := range remedies {
		if (known.step == "" || known.step == r.step) && (known.errnos == nil || slices.Contains(known.errnos, r.errno)) {
			return known.reason, known.remedy
		}
	}
	panic("cgroup: the last of the remedies fits every refusal")
}

// scopeWouldHelp reports whether the refusal is about the cgroup that the owner is
// in, so that it would be another in a scope.
func scopeWouldHelp(r refusal) bool {
	_, remedy := r.remedy()
	return remedy == ""
}

// detail words the refusals of every candidate, the nearest first, as what the
// process may not do.
func detail(tried []refusal) string {
	first := tried[0]
	s := fmt.Sprintf("may not %s below %q", first.step, first.directory)
	if len(tried) > 1 {
		s += ", nor below any cgroup above it"
	}
	if first.killed {
		s += ": it is killed at its birth, since the cgroup that the parent runs in was killed once, by way of cgroup.kill"
	}
	return s
}

// refused returns the error for the refusals of every candidate, of which there
// must be one, and of a scope, if that would have helped.
func refused(stage core.Stage, tried []refusal, scope *scopeRefusal) *core.Error {
	first := tried[0]
	e := &core.Error{Stage: stage, Backend: Name, Path: first.directory, Errno: first.errno, Detail: "this process " + detail(tried)}
	if e.Reason, e.Remedy = first.remedy(); e.Remedy != "" {
		return e
	}
	e.Remedy = "run the program as root, or in a cgroup of its own"
	if first.killed {
		e.Remedy = "start the program in a new cgroup"
	}
	if scope != nil {
		e.Detail = fmt.Sprintf("this process gets no systemd scope (%v), and %s", scope, detail(tried))
	}
	if scope != nil && scope.remedy != "" {
		e.Remedy = scope.remedy + "; or " + e.Remedy
	}
	return e
}

// noHierarchy is the error where there is no cgroup v2 at all.
func noHierarchy(stage core.Stage, detail string) *core.Error {
	return &core.Error{
		Reason:  core.ErrUnsupported,
		Stage:   stage,
		Backend: Name,
		Detail:  detail,
		// Mounted over /sys/fs/cgroup it would hide the hierarchies of v1, and with
		// them the service manager's own (seen on Debian 12: systemd-run fails).
		Remedy: "start the kernel with systemd.unified_cgroup_hierarchy=1; or mount it beside the hierarchies of v1, " +
			"as root: mkdir /run/cgroup2 && mount -t cgroup2 none /run/cgroup2",
	}
}
