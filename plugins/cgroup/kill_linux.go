package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/core/owner/procstat"
)

// Kill implements [core.Tracker]. Its outcome is [core.ProvedEmpty] or
// [core.GaveUp]: the kernel says whether a process is left.
//
// It kills the members one by one, in rounds, and not by cgroup.kill: that
// would make the session useless. A cgroup counts how often it was killed. To
// catch forks in flight, the kernel compares the count from before a fork with
// that from after it, and current kernels take the first from the parent's
// cgroup even if the child is cloned into another (cgroup_css_set_fork and
// cgroup_post_fork in kernel/cgroup/cgroup.c; seen on 6.18 and 7.2, not on
// 6.12). So whoever is born from outside into a cgroup that was killed once is
// killed at birth, for ever. Close has no such worry.
//
// If the tracker itself or its host is in the session, which only a process
// outside of every constraint can have done, all others are killed, these are
// not, and they are reported as survivors.
func (t *Tracker) Kill(ctx context.Context, h core.Handle) (*core.KillReport, error) {
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	l, err := t.openLeaf(core.StageKill, h)
	if errors.Is(err, errGone) {
		return &core.KillReport{Outcome: core.ProvedEmpty}, nil
	}
	if err != nil {
		return nil, err
	}
	defer l.close()
	return t.end(ctx, core.StageKill, l, "")
}

// end kills every member until there is none or ctx ends. With the name of the
// file that kills a cgroup at once it uses that, after which nobody should be
// born in the session.
func (t *Tracker) end(ctx context.Context, stage core.Stage, l *leaf, killName string) (*core.KillReport, error) {
	k := &killing{leaf: l, killName: killName, seen: map[int]struct{}{}}
	err := k.run(ctx)
	if err != nil {
		if populated, lookErr := l.populated(); errors.Is(lookErr, errGone) || lookErr == nil && !populated {
			err = nil // whatever went wrong, it is what was wanted: nobody is left
		}
	}
	if err == nil {
		k.report.Outcome = core.ProvedEmpty
		k.report.Killed = len(k.seen)
		return &k.report, nil
	}
	return k.gaveUp(stage, err)
}

// A killing is one attempt to end every member of a session.
type killing struct {
	*leaf
	killName string // empty to kill one by one
	report   core.KillReport
	seen     map[int]struct{} // every member seen alive
	alive    []int            // the members at the last look, without the spared
	spared   []int            // members that are never killed
	rounds   int
	frozen   bool // by this attempt
}

// How long a round has to take effect before the next. After cgroup.kill a
// second round is needed only if a process was put into the cgroup meanwhile.
// Killing one by one needs a second one whenever a member forked.
const (
	roundAtOnce   = 50 * time.Millisecond
	roundOneByOne = 2 * time.Millisecond
)

func (k *killing) run(ctx context.Context) error {
	defer func() {
		if k.frozen {
			writeFile(k.fd, "cgroup.freeze", "0")
		}
	}()
	for ; ; k.rounds++ {
		empty, err := k.round(ctx)
		if errors.Is(err, unix.EACCES) && ctx.Err() == nil {
			time.Sleep(deniedPause)
			continue
		}
		if err != nil || empty {
			return err
		}
	}
}

// round is one attempt, and reports whether nobody is left.
func (k *killing) round(ctx context.Context) (bool, error) {
	text, err := k.events()
	if err != nil {
		return false, err
	}
	if !isSet(text, "populated") {
		return true, k.thaw(text)
	}
	if err := k.note(ctx); err != nil {
		return false, err
	}
	wait, err := k.strike(ctx)
	if err != nil {
		return false, err
	}
	return k.waitEmpty(ctx, wait)
}

// note notes who is alive. Members that must be spared end the attempt once
// nobody else is left.
func (k *killing) note(ctx context.Context) error {
	pids, err := k.members(ctx)
	if err != nil {
		return err
	}
	k.alive, k.spared = k.alive[:0], k.spared[:0]
	for _, pid := range pids {
		if k.mustSpare(pid) {
			k.spared = append(k.spared, pid)
			continue
		}
		k.alive = append(k.alive, pid)
		k.seen[pid] = struct{}{}
	}
	if len(k.spared) > 0 && len(k.alive) == 0 {
		return errSpared
	}
	if k.report.Processes == nil {
		k.report.Processes = k.describe(ctx, pids, core.KillReportProcesses)
	}
	return nil
}

var errSpared = errors.New("the tracker or its host was moved into the session, and is not killed")

// mustSpare reports whether pid is the tracker, its host, the owner of the
// session, or the first process.
func (k *killing) mustSpare(pid int) bool {
	switch pid {
	case 1, os.Getpid(), os.Getppid():
		return true
	case k.name.owner.PID:
		stat, err := procstat.Read(pid)
		return err == nil && stat.Start == k.name.owner.Start
	}
	return false
}

// strike sends SIGKILL to every member, and returns how long to wait for it to
// take effect. cgroup.kill does it for the whole tree at once, and forks in
// flight do not escape it (Linux 5.14).
func (k *killing) strike(ctx context.Context) (time.Duration, error) {
	if len(k.spared) == 0 && k.killName != "" {
		err := writeFile(k.fd, k.killName, "1")
		switch {
		case err == nil:
			return roundAtOnce, nil
		case errors.Is(err, unix.ENODEV):
			return 0, errGone
		case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EOPNOTSUPP):
			k.killName = "" // before 5.14, or the cgroup was made threaded while it was empty
		default:
			return 0, err
		}
	}
	return roundOneByOne, k.killOneByOne(ctx)
}

// waitEmpty waits until no process is left, for a limited time.
//
// It reads cgroup.events again and again, since the kernel notifies pollers of
// the file at most 100 times a second (CGROUP_FILE_NOTIFY_MIN_INTV in
// kernel/cgroup/cgroup.c), and a kill takes less than a millisecond.
func (k *killing) waitEmpty(ctx context.Context, limit time.Duration) (bool, error) {
	end := time.Now().Add(limit)
	for pause := 20 * time.Microsecond; ; pause = min(2*pause, 5*time.Millisecond) {
		text, err := k.events()
		if err != nil {
			return false, err
		}
		if !isSet(text, "populated") {
			return true, k.thaw(text)
		}
		if time.Now().After(end) {
			return false, nil
		}
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// thaw undoes a freeze, the tracker's own or one that a process of the session
// made: a process that is born in a frozen cgroup never gets to its execve.
func (k *killing) thaw(events []byte) error {
	if !isSet(events, "frozen") {
		return nil
	}
	err := writeFile(k.fd, "cgroup.freeze", "0")
	if isGone(err) {
		return errGone
	}
	return err
}

// gaveUp returns the report and the error of an attempt that did not succeed.
func (k *killing) gaveUp(stage core.Stage, cause error) (*core.KillReport, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	pids, err := k.members(ctx)
	if err != nil && !errors.Is(err, errGone) {
		cause = errors.Join(cause, err)
	}
	k.report.Outcome = core.GaveUp
	k.report.Survivors = k.describe(ctx, pids, len(pids))
	k.report.Killed = len(k.seen)
	for _, p := range k.report.Survivors {
		if _, ok := k.seen[p.PID]; ok {
			k.report.Killed--
		}
	}
	detail := fmt.Sprintf("%d %s of the session did not end", len(pids), plural(len(pids), "process", "processes"))
	if len(pids) == 0 {
		detail = "processes that are not visible in this PID namespace did not end"
	}
	e := failure(stage, core.ErrSurvivors, k.path, cause, detail)
	if !errors.Is(cause, errSpared) {
		e.Remedy = "a process in state D (see ps) ends when the kernel lets it: try again later"
	}
	return &k.report, e
}
