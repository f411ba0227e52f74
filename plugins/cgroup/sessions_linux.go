package cgroup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/core/owner"
)

// A found is the cgroup of a session, as a search came upon it.
type found struct {
	name leafName
	path string
}

// find returns the sessions of this user in the whole hierarchy that is
// visible: they may have been opened from any cgroup.
func (t *Tracker) find(ctx context.Context, stage core.Stage) ([]found, error) {
	p, err := locate(stage, os.Getpid())
	if err != nil {
		return nil, err
	}
	top, err := openDirectory(unix.AT_FDCWD, p.point, unix.O_PATH)
	if err != nil {
		return nil, failure(stage, core.ErrUnavailable, p.point, err, "opening the cgroup filesystem")
	}
	defer unix.Close(top)
	var all []found
	err = walk(ctx, top, skipDenied, func(dir int, path string) error {
		name, ok := parseLeafName(lastName(path))
		if !ok || len(p.point+path) >= unix.PathMax {
			return nil // what has no usable path is below a session that has one
		}
		if st, err := statx(dir, unix.STATX_UID); err == nil && name.belongsTo(t.uid, st.Uid) {
			all = append(all, found{name, p.point + path})
		}
		return nil
	})
	if err != nil {
		return nil, failure(stage, core.ErrUnavailable, p.point, err, "looking for sessions")
	}
	return all, nil
}

// status says what there is to say about a session. The error is errGone, or
// that its processes could not be counted; then the rest is filled in.
func (t *Tracker) status(ctx context.Context, stage core.Stage, f found) (core.SessionStatus, error) {
	s := core.SessionStatus{
		Handle:     handleOf(f.name, f.path),
		Owner:      f.name.owner,
		OwnerAlive: !t.ownerIsDead(f.name),
		Detached:   f.name.detached,
	}
	l, err := t.openDirectoryAsLeaf(stage, f.path, f.name)
	if err != nil {
		return s, err
	}
	defer l.close()
	pids, err := l.members(ctx)
	if err != nil && !errors.Is(err, errGone) {
		err = failure(stage, core.ErrUnavailable, f.path, err, "counting the processes of a session")
	}
	s.Processes = len(pids)
	return s, err
}

// ownerIsDead reports whether the owner is known to be dead. From other
// namespaces than those of the name, and wherever the system does not tell, it
// is not known.
func (t *Tracker) ownerIsDead(n leafName) bool {
	if n.view != t.view {
		return false
	}
	alive, err := owner.Alive(n.owner)
	return err == nil && !alive
}

// Sessions implements [core.Tracker]. The owner of a session that was opened in
// another PID or time namespace counts as alive: it cannot be told from here.
// Without cgroup v2 there are no sessions.
func (t *Tracker) Sessions(ctx context.Context) ([]core.SessionStatus, error) {
	all, err := t.find(ctx, core.StageList)
	if errors.Is(err, core.ErrUnsupported) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var statuses []core.SessionStatus
	for _, f := range all {
		s, err := t.status(ctx, core.StageList, f)
		if errors.Is(err, errGone) {
			continue
		}
		if err != nil {
			return nil, err
		}
		statuses = append(statuses, s)
	}
	slices.SortFunc(statuses, bySession)
	return statuses, nil
}

// Sweep implements [core.Tracker].
func (t *Tracker) Sweep(ctx context.Context) (*core.SweepReport, error) {
	return t.sweep(ctx, func(f found) bool { return t.ownerIsDead(f.name) })
}

// HostGone closes the sessions of the processes that opened sessions through
// this tracker, and of its parent, but for those that were opened to outlive
// them. It is called when the host's end of the lifeline is closed, which proves
// that the host is gone even if its last threads still end. No session can be
// opened afterwards.
func (t *Tracker) HostGone(ctx context.Context) error {
	t.gate.Lock()
	t.hostGone = true
	t.gate.Unlock()

	report, err := t.sweep(ctx, func(f found) bool {
		t.mu.Lock()
		defer t.mu.Unlock()
		_, ours := t.hosts[f.name.owner]
		return ours && f.name.view == t.view
	})
	if err != nil {
		return err
	}
	var problems []error
	for _, f := range report.Failed {
		problems = append(problems, fmt.Errorf("session %s: %s", f.Session.Handle.Session, f.Problem))
	}
	return errors.Join(problems...)
}

// closersAtOnce is how many sessions a sweep closes at a time. Most of a close
// is waiting for processes to end.
const closersAtOnce = 8

// sweep closes every session that does not outlive its owner and that the
// caller wants closed.
func (t *Tracker) sweep(ctx context.Context, unwanted func(found) bool) (*core.SweepReport, error) {
	report := &core.SweepReport{}
	all, err := t.find(ctx, core.StageSweep)
	if errors.Is(err, core.ErrUnsupported) {
		return report, nil
	}
	if err != nil {
		return nil, err
	}
	var (
		mu    sync.Mutex
		wg    sync.WaitGroup
		slots = make(chan struct{}, closersAtOnce)
	)
	for _, f := range all {
		if f.name.detached || !unwanted(f) {
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			status, killed, err := t.sweepOne(ctx, f)
			mu.Lock()
			defer mu.Unlock()
			report.Killed += killed
			switch {
			case err != nil:
				report.Failed = append(report.Failed, core.SweepFailure{Session: status, Problem: err.Error()})
			case status.Handle.Session != core.SessionID{}:
				report.Closed = append(report.Closed, status)
			}
		})
	}
	wg.Wait()
	slices.SortFunc(report.Closed, bySession)
	slices.SortFunc(report.Failed, func(a, b core.SweepFailure) int { return bySession(a.Session, b.Session) })
	return report, nil
}

func bySession(a, b core.SessionStatus) int {
	return bytes.Compare(a.Handle.Session[:], b.Handle.Session[:])
}

// sweepOne closes one session, whether or not it can be counted. The status is
// zero if somebody else was first.
func (t *Tracker) sweepOne(ctx context.Context, f found) (core.SessionStatus, int, error) {
	status, err := t.status(ctx, core.StageSweep, f)
	if errors.Is(err, errGone) {
		return core.SessionStatus{}, 0, nil
	}
	report, err := t.Close(ctx, status.Handle)
	if report == nil {
		return status, 0, err
	}
	return status, report.Killed, err
}
