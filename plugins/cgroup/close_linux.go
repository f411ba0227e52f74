package cgroup

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
)

// Close implements [core.Tracker]. The kernel removes a cgroup only while no
// process is in it or below it, so a session that Close removed is proved empty.
//
// If processes survive, the session stays, but only to be closed: on current
// kernels no process can be born in it any more (see Kill).
func (t *Tracker) Close(ctx context.Context, h core.Handle) (*core.KillReport, error) {
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	l, err := t.openLeaf(core.StageClose, h)
	if errors.Is(err, errGone) {
		return &core.KillReport{Outcome: core.ProvedEmpty}, nil
	}
	if err != nil {
		return nil, err
	}
	defer l.close()
	return t.remove(ctx, l)
}

// remove kills what is left in a session and removes its cgroups. Each round
// ends with an attempt to remove the cgroup itself; only EBUSY, from a process
// or a cgroup that came after the kill, makes another.
func (t *Tracker) remove(ctx context.Context, l *leaf) (*core.KillReport, error) {
	total := &core.KillReport{Outcome: core.ProvedEmpty}
	for attempt := 0; ; attempt++ {
		if attempt > 1 {
			time.Sleep(time.Millisecond)
		}
		err := unix.Rmdir(l.path)
		if err == unix.EACCES {
			reopen(unix.AT_FDCWD, l.parent())
			err = unix.Rmdir(l.path)
		}
		if err == nil || isGone(err) {
			return total, nil
		}
		if !errors.Is(err, unix.EBUSY) {
			return total, failure(core.StageClose, core.ErrNotPermitted, l.path, err, "removing the session's cgroup")
		}
		report, err := t.end(ctx, core.StageClose, l, t.killName)
		total.Killed += report.Killed
		total.Survivors = report.Survivors
		if total.Processes == nil {
			total.Processes = report.Processes
		}
		if err != nil {
			total.Outcome = report.Outcome
			return total, err
		}
		err = removeBelow(ctx, l.fd)
		if err != nil && !isGone(err) && !errors.Is(err, unix.EBUSY) {
			total.Outcome = core.GaveUp
			return total, failure(core.StageClose, core.ErrNotPermitted, l.path, err, "removing the cgroups in the session")
		}
	}
}
