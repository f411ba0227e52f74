package cgroup

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/core/owner/procstat"
)

// members returns the pids of the live processes in the cgroup and below it,
// sorted, each once. It is a snapshot: processes come and go meanwhile. Those
// that are not visible in the tracker's PID namespace are left out.
func (l *leaf) members(ctx context.Context) ([]int, error) {
	for attempt := 0; ; attempt++ {
		pids, err := l.look(ctx)
		if !errors.Is(err, unix.EACCES) || attempt == deniedAttempts || ctx.Err() != nil {
			return pids, err
		}
		time.Sleep(deniedPause)
	}
}

// A member may take the tracker's rights away as fast as the tracker takes them
// back (see reopen). One attempt has to come through.
const (
	deniedAttempts = 1000
	deniedPause    = 50 * time.Microsecond
)

func (l *leaf) look(ctx context.Context) ([]int, error) {
	top, err := openDirectory(l.fd, ".", unix.O_RDONLY)
	if errors.Is(err, unix.EACCES) {
		reopen(l.fd, ".")
		top, err = openDirectory(l.fd, ".", unix.O_RDONLY)
	}
	if isGone(err) {
		return nil, errGone
	}
	if err != nil {
		return nil, err
	}
	defer unix.Close(top)

	var pids []int
	if nested, err := hasChildren(top); err == nil && !nested {
		pids, err = processes(top)
		if err != nil {
			return nil, err
		}
	} else {
		err := walk(ctx, top, failDenied, func(dir int, _ string) error {
			found, err := processes(dir)
			pids = append(pids, found...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(pids)
	pids = slices.Compact(pids)
	return slices.DeleteFunc(pids, func(pid int) bool { return pid <= 0 }), nil
}

// hasChildren reports whether there are cgroups below dir. The link count of a
// kernfs directory is 2 and one for each directory in it.
func hasChildren(dir int) (bool, error) {
	st, err := statx(dir, unix.STATX_NLINK)
	if err != nil {
		return false, err
	}
	return st.Nlink > 2, nil
}

// processes returns the processes of one cgroup. Those of a threaded cgroup are
// found by their threads: reading its cgroup.procs is refused (cgroups(7)).
func processes(dir int) ([]int, error) {
	text, err := readFile(dir, "cgroup.procs")
	if err == nil {
		return numbers(text), nil
	}
	if isGone(err) {
		return nil, nil
	}
	if !errors.Is(err, unix.EOPNOTSUPP) {
		return nil, err
	}
	text, err = readFile(dir, "cgroup.threads")
	if isGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, tid := range numbers(text) {
		if pid, ok := processOf(tid); ok {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// processOf returns the process that a thread is of.
func processOf(tid int) (int, bool) {
	text, err := readFile(unix.AT_FDCWD, "/proc/"+strconv.Itoa(tid)+"/status")
	if err != nil {
		return 0, false
	}
	_, after, found := strings.Cut(string(text), "\nTgid:")
	if !found {
		return 0, false
	}
	line, _, _ := strings.Cut(after, "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	return pid, err == nil
}

// batch is how many processes are held open at a time.
const batch = 256

// describe returns what there is to say about the first of the pids, at most
// max, leaving out those that are no members (any more).
//
// An open /proc/PID stands for one process: once that is gone, nothing can be
// read through it, even if the pid has a new bearer. It is opened before the
// members are listed once more, so what is read after that is a member's.
func (l *leaf) describe(ctx context.Context, pids []int, max int) []core.Process {
	var all []core.Process
	pids = pids[:min(len(pids), max)]
	for part := range slices.Chunk(pids, batch) {
		dirs := make(map[int]int, len(part))
		for _, pid := range part {
			dir, err := unix.Open("/proc/"+strconv.Itoa(pid), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
			if err == nil {
				dirs[pid] = dir
			}
		}
		still, _ := l.members(ctx)
		for _, pid := range still {
			if dir, ok := dirs[pid]; ok {
				if p, err := describe(pid, dir); err == nil {
					all = append(all, p)
				}
			}
		}
		for _, dir := range dirs {
			unix.Close(dir)
		}
	}
	return all
}

// describe describes a process by its open /proc/PID.
func describe(pid, dir int) (core.Process, error) {
	line, err := readFile(dir, "stat")
	if err != nil {
		return core.Process{}, err
	}
	stat, err := procstat.Parse(line)
	if err != nil {
		return core.Process{}, err
	}
	return core.Process{PID: pid, Parent: stat.Parent, Command: stat.Command}, nil
}

// holds reports whether the text of a /proc/PID/cgroup is that of a member.
func (l *leaf) holds(text []byte) bool {
	cgroup, ok := ownCgroup(text)
	return ok && within(cgroup, l.cgroup)
}

// Verify implements [core.Tracker].
func (t *Tracker) Verify(ctx context.Context, h core.Handle, pid int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if pid <= 0 {
		return failure(core.StageVerify, core.ErrInvalidRequest, "", nil, strconv.Itoa(pid)+" is not the pid of a process")
	}
	l, err := t.openLeaf(core.StageVerify, h)
	if errors.Is(err, errGone) {
		return failure(core.StageVerify, core.ErrNotMember, string(h.Data), nil, "the session does not exist")
	}
	if err != nil {
		return err
	}
	defer l.close()
	file := "/proc/" + strconv.Itoa(pid) + "/cgroup"
	text, err := readFile(unix.AT_FDCWD, file)
	switch {
	case errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH):
		return failure(core.StageVerify, core.ErrNotMember, file, err, "there is no such process")
	case err != nil:
		return failure(core.StageVerify, core.ErrUnavailable, file, err, "reading the cgroup of the process")
	case !l.holds(text):
		cgroup, _ := ownCgroup(text)
		return failure(core.StageVerify, core.ErrNotMember, cgroup, nil, "process "+strconv.Itoa(pid)+" is not in the session but in the cgroup "+strconv.Quote(cgroup))
	}
	return nil
}

// List implements [core.Tracker].
func (t *Tracker) List(ctx context.Context, h core.Handle) ([]core.Process, error) {
	l, err := t.openLeaf(core.StageList, h)
	if errors.Is(err, errGone) {
		return nil, notFound(core.StageList, h)
	}
	if err != nil {
		return nil, err
	}
	defer l.close()
	pids, err := l.members(ctx)
	if errors.Is(err, errGone) {
		return nil, notFound(core.StageList, h)
	}
	if err != nil {
		return nil, failure(core.StageList, core.ErrUnavailable, l.path, err, "listing the processes of the session")
	}
	return l.describe(ctx, pids, len(pids)), nil
}

func notFound(stage core.Stage, h core.Handle) error {
	return failure(stage, core.ErrNotFound, "", nil, "there is no session "+h.Session.String())
}
