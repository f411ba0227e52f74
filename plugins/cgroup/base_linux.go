package cgroup

import (
	"errors"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
)

// A place is where sessions of this process can be looked for and made.
type place struct {
	hierarchy
	mounts []mount
	own    string // the tracker's own cgroup
}

// locate finds the mount of cgroup v2 that shows the tracker's own cgroup.
func locate(stage core.Stage) (*place, error) {
	mounts, err := mountTable.read()
	if err != nil {
		return nil, failure(stage, core.ErrUnavailable, "/proc/self/mountinfo", err, "reading the mounts")
	}
	text, err := readFile(unix.AT_FDCWD, "/proc/self/cgroup")
	if err != nil {
		return nil, failure(stage, core.ErrUnavailable, "/proc/self/cgroup", err, "reading the own cgroup")
	}
	own, ok := ownCgroup(text)
	if !ok {
		return nil, noHierarchy(stage, "this kernel runs without cgroup v2")
	}
	all := hierarchies(mounts)
	if len(all) == 0 {
		return nil, noHierarchy(stage, "no cgroup v2 filesystem is mounted")
	}
	for _, h := range all {
		if directory, ok := h.directory(own); ok && isVisible(directory) {
			return &place{hierarchy: h, mounts: mounts, own: own}, nil
		}
	}
	e := noHierarchy(stage, "the cgroup of this process is in no mounted cgroup v2 filesystem")
	e.Path = own
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

// make makes the cgroup of a session that needs the given controllers, below
// the best directory there is, or opens it if it is there. The directory is
// settled once for each set of controllers.
func (t *Tracker) make(stage core.Stage, name leafName, need controllers) (l *leaf, made bool, err error) {
	t.mu.Lock()
	base, ok := t.bases[need]
	t.mu.Unlock()
	if ok {
		l, made, err = t.makeBelow(stage, base, name)
		if err == nil {
			return l, made, nil
		}
		// The tracker was moved, or rights have changed: look again.
	}
	p, err := locate(stage)
	if err != nil {
		return nil, false, err
	}
	var tried []refusal
	for _, base := range p.ranked(need) {
		l, made, err := t.makeBelow(stage, base, name)
		if err != nil {
			if errno := errnoOf(err); errno != 0 {
				tried = append(tried, refusal{base, stepMake, errno, false})
				continue
			}
			return nil, false, err
		}
		if err := join(l.fd); err != nil {
			if made {
				unix.Rmdir(l.path)
			}
			l.close()
			tried = append(tried, refusal{base, stepJoin, errnoOf(err), errors.Is(err, errKilledAtBirth)})
			continue
		}
		t.mu.Lock()
		t.bases[need] = base
		t.mu.Unlock()
		return l, made, nil
	}
	return nil, false, refused(stage, tried)
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
	dirs := p.candidates(p.own)
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

// notADirectory cannot be executed: a component of it is a file that this
// process has just read, so the answer is ENOTDIR, which clone3 never gives.
const notADirectory = "/proc/self/cgroup/nothing"

// join finds out whether a process can be started in the cgroup, by starting
// one there. It is a child of this process that shares its memory, is refused
// its execve, and is gone when join returns: 30 µs, and no program is run.
//
// The kernel asks for write permission on the cgroup.procs of the new cgroup and
// on that of the nearest common ancestor with the parent's cgroup (clone(2),
// CLONE_INTO_CGROUP; cgroup_procs_write_permission in kernel/cgroup/cgroup.c),
// and that the cgroup can hold processes at all. A mkdir that works proves none
// of this. Since the host runs as the same user in the same cgroup as its
// tracker, what is true for one is true for the other.
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
