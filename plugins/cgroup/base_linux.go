package cgroup

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
)

// A place is where sessions can be looked for, and made by an owner.
type place struct {
	hierarchy
	mounts []mount
	own    string // the tracker's own cgroup
	owner  string // the owner's, which is the same unless one of them was moved
}

// locate finds the mount of cgroup v2 that shows the cgroup of a process, the
// owner of a session that is to be made.
func locate(stage core.Stage, owner int) (*place, error) {
	mounts, err := mountTable.read()
	if err != nil {
		return nil, failure(stage, core.ErrUnavailable, "/proc/self/mountinfo", err, "reading the mounts")
	}
	own, err := cgroupOf(os.Getpid())
	if errors.Is(err, unix.ENODATA) {
		return nil, noHierarchy(stage, "this kernel runs without cgroup v2")
	}
	if err != nil {
		return nil, failure(stage, core.ErrUnavailable, "/proc/self/cgroup", err, "reading the own cgroup")
	}
	theirs := own
	if owner != os.Getpid() {
		if theirs, err = cgroupOf(owner); err != nil {
			return nil, failure(stage, core.ErrUnavailable, fmt.Sprintf("/proc/%d/cgroup", owner), err, "reading the cgroup of the host")
		}
	}
	all := hierarchies(mounts)
	if len(all) == 0 {
		return nil, noHierarchy(stage, "no cgroup v2 filesystem is mounted")
	}
	for _, h := range all {
		if directory, ok := h.directory(theirs); ok && isVisible(directory) {
			return &place{hierarchy: h, mounts: mounts, own: own, owner: theirs}, nil
		}
	}
	e := noHierarchy(stage, "the cgroup of this process is in no mounted cgroup v2 filesystem")
	e.Path = theirs
	return nil, e
}

// isVisible reports whether directory is a cgroup and not hidden by another
// mount.
func isVisible(directory string) bool {
	fd, err := openDirectory(unix.AT_FDCWD, directory, unix.O_PATH)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	cgroup2, err := isCgroup2(fd)
	return err == nil && cgroup2
}

// makeBelow makes the cgroup of a session below base, or opens it.
func (t *Tracker) makeBelow(stage core.Stage, base string, name leafName) (*leaf, bool, error) {
	twin := name
	twin.detached = !twin.detached
	if unix.Access(base+"/"+twin.String(), unix.F_OK) == nil {
		return nil, false, failure(stage, core.ErrInvalidRequest, "", nil, "the session is open already, with another answer to whether it outlives its owner")
	}
	directory := base + "/" + name.String()
	err := unix.Mkdir(directory, 0o755)
	if err != nil && err != unix.EEXIST {
		return nil, false, failure(stage, core.ErrNotPermitted, directory, err, "making the session's cgroup")
	}
	made := err == nil
	l, err := t.openDirectoryAsLeaf(stage, directory, name)
	if errors.Is(err, errGone) {
		err = failure(stage, core.ErrClosed, directory, nil, "the session was closed while it was being opened")
	}
	if err != nil {
		if made {
			unix.Rmdir(directory)
		}
		return nil, false, err
	}
	return l, made, nil
}

// ranked returns the directories to try, those where more of the needed
// controllers can be had before others, then the nearest first.
func (p *place) ranked(need controllers) []string {
	dirs := p.candidates(p.owner)
	if need == 0 {
		return dirs
	}
	had := make(map[string]int, len(dirs))
	for _, dir := range dirs {
		had[dir] = (obtainable(dir) & need).count()
	}
	slices.SortStableFunc(dirs, func(a, b string) int { return had[b] - had[a] })
	return dirs
}

// join finds out whether the owner can start processes in a session.
//
// The kernel asks for write permission on the cgroup.procs of the new cgroup and
// on that of the nearest common ancestor with the parent's cgroup (clone(2),
// CLONE_INTO_CGROUP; cgroup_procs_write_permission in kernel/cgroup/cgroup.c),
// and that the cgroup can hold processes at all. A mkdir that works proves none
// of this. The owner is of the same user as its tracker, so what is true for one
// is true for the other while they are in the same cgroup. If they are not, the
// tracker finds out all but the permission on the ancestor, and asks for that.
func (p *place) join(l *leaf) error {
	err := join(l.fd)
	if p.own == p.owner {
		return err
	}
	if err != nil && !errors.Is(err, unix.EACCES) && !errors.Is(err, errKilledAtBirth) {
		return err
	}
	ancestor, ok := p.directory(commonAncestor(p.owner, l.cgroup))
	if !ok {
		return unix.ENOENT
	}
	return unix.Faccessat(unix.AT_FDCWD, ancestor+"/cgroup.procs", unix.W_OK, unix.AT_EACCESS)
}

// notADirectory cannot be executed: a component of it is a file that this
// process has just read, so the answer is ENOTDIR, which clone3 never gives.
const notADirectory = "/proc/self/cgroup/nothing"

// join finds out whether this process can start another in a cgroup, by doing so:
// a child that shares its memory, is refused its execve, and is gone when join
// returns. That takes 30 µs, and no program is run.
func join(cgroup int) error {
	pid, err := syscall.ForkExec(notADirectory, []string{"pinfold-probe"}, &syscall.ProcAttr{
		Sys: &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: cgroup},
	})
	if errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err != nil {
		return err
	}
	// No answer came from the execve, so the child was ended before.
	var status syscall.WaitStatus
	for {
		_, err := syscall.Wait4(pid, &status, 0, nil)
		if err != syscall.EINTR {
			break
		}
	}
	return errKilledAtBirth
}

// errKilledAtBirth is what comes of starting a process in a cgroup that was not
// killed as often as the parent's own cgroup was (see Kill).
var errKilledAtBirth = errors.New("cgroup: the process was killed at its birth")
