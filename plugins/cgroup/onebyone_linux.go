package cgroup

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// killOneByOne kills members where the cgroup is not to be killed at once, where
// the kernel cannot (before Linux 5.14), or where some members are to be spared.
//
// If the first round was not enough, members fork, and the cgroup is frozen so
// that they no longer can; SIGKILL reaches frozen processes (cgroup-v2.rst,
// cgroup.freeze, Linux 5.2). That the freeze is complete is not waited for: a
// child of a member that is not frozen yet is born in the same cgroup, and the
// next round sees it. With members to be spared there is no freeze, since they
// may be the tracker and its host.
func (k *killing) killOneByOne(ctx context.Context) error {
	if k.rounds > 0 && len(k.spared) == 0 && !k.frozen {
		// Without it, it takes more rounds.
		k.frozen = writeFile(k.fd, "cgroup.freeze", "1") == nil
	}
	for part := range slices.Chunk(k.alive, batch) {
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
		switch {
		case errors.Is(err, unix.ESRCH):
			continue
		case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOENT):
			// What kernels say, instead, of a process that ends at that very
			// moment: no process has that pid (any more), or a thread has.
			continue
		case err != nil:
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
