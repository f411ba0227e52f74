package cgroup

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// killOneByOne kills members where the kernel cannot kill a cgroup at once
// (before Linux 5.14), or where some of them are to be spared.
//
// The cgroup is frozen first, so that nobody forks any more; SIGKILL reaches
// frozen processes (Linux 5.2, cgroup-v2.rst). It is not waited for: a member
// that is not frozen yet may fork, and the child, born in the same cgroup, is
// seen by the next round. With members to be spared it is not frozen, since they
// may be the tracker and its host.
func (k *killing) killOneByOne(ctx context.Context) error {
	if len(k.spared) == 0 {
		if err := writeFile(k.fd, "cgroup.freeze", "1"); err != nil && !isGone(err) {
			return err
		}
	}
	pids, err := k.members(ctx)
	if err != nil {
		return err
	}
	pids = slices.DeleteFunc(pids, k.mustSpare)
	for part := range slices.Chunk(pids, batch) {
		if err := k.killMembers(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// killMembers sends SIGKILL to those of the pids that are members.
//
// A pidfd stands for one process. It is opened before the members are listed
// once more; if that process can still be signalled afterwards, it had the pid
// all the while, and so was the one listed. No stranger with a reused pid is hit.
func (k *killing) killMembers(ctx context.Context, pids []int) error {
	open := make(map[int]int, len(pids))
	defer func() {
		for _, fd := range open {
			unix.Close(fd)
		}
	}()
	for _, pid := range pids {
		fd, err := unix.PidfdOpen(pid, 0)
		if errors.Is(err, unix.ESRCH) {
			continue
		}
		if err != nil {
			return pathError("pidfd_open", strconv.Itoa(pid), err)
		}
		open[pid] = fd
	}
	still, err := k.members(ctx)
	if err != nil {
		return err
	}
	for _, pid := range still {
		fd, ok := open[pid]
		if !ok {
			continue
		}
		k.seen[pid] = struct{}{}
		err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
		if err != nil && !errors.Is(err, unix.ESRCH) {
			return pathError("kill", strconv.Itoa(pid), err)
		}
	}
	return nil
}
