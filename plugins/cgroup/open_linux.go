package cgroup

import (
	"context"
	"fmt"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/core/owner"
)

// Open implements [core.Tracker]. Whether processes can be started in the
// session's cgroup is found out by starting one there, once for each tracker
// process.
func (t *Tracker) Open(ctx context.Context, req *core.OpenRequest) (*core.Opened, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t.gate.RLock()
	defer t.gate.RUnlock()
	if t.hostGone {
		return nil, failure(core.StageOpen, core.ErrClosed, "", nil, "the host is gone")
	}
	name, err := newLeafName(req, t.uid, t.view)
	if err != nil {
		return nil, err
	}
	if err := t.admit(req.Owner); err != nil {
		return nil, err
	}
	l, made, err := t.make(ctx, core.StageOpen, name, needs(req.Limits), req.MoveOwner)
	if err != nil {
		return nil, err
	}
	opened, err := t.opened(l, req.Limits)
	if err != nil {
		l.close()
		if made {
			unix.Rmdir(l.path)
		}
		return nil, err
	}
	return opened, nil
}

// admit makes sure that the owner is a process that lives, as this process sees
// it: a sweep would take the session of any other for abandoned.
func (t *Tracker) admit(o core.Owner) error {
	t.mu.Lock()
	_, known := t.hosts[o]
	t.mu.Unlock()
	if known {
		return nil
	}
	if alive, err := owner.Alive(o); err == nil && !alive {
		return failure(core.StageOpen, core.ErrInvalidRequest, "", nil,
			fmt.Sprintf("the owner, process %d started at %d, does not live in this tracker's PID and time namespaces", o.PID, o.Start))
	}
	t.mu.Lock()
	t.hosts[o] = struct{}{}
	t.mu.Unlock()
	return nil
}

// opened is the answer to Open. On success it takes l's descriptor over.
func (t *Tracker) opened(l *leaf, limits core.LimitsPolicy) (*core.Opened, error) {
	mounts, err := mountTable.read()
	if err != nil {
		return nil, failure(core.StageOpen, core.ErrUnavailable, "/proc/self/mountinfo", err, "reading the mounts")
	}
	opened := &core.Opened{
		Handle:      l.handle(),
		Constraints: constraints(mounts, t.uid),
		Enforcement: core.Enforcement{Dimensions: []core.Finding{cleanupFinding(l.parent())}},
	}
	if needs(limits) != 0 {
		finding, err := l.limit(limits, mounts)
		if err != nil {
			return nil, err
		}
		opened.Enforcement.Dimensions = append(opened.Enforcement.Dimensions, finding)
	}
	opened.Birth.Cgroup = os.NewFile(uintptr(l.fd), l.path)
	return opened, nil
}

// cleanupFinding is the finding for sessions made below a directory.
func cleanupFinding(base string) core.Finding {
	mechanism := "cgroup v2, born inside by clone3"
	if isScopeName(path.Base(base)) {
		mechanism = scopeMechanism
	}
	return core.Finding{Dimension: core.Cleanup, Level: core.Enforced, Mechanism: mechanism}
}

const scopeMechanism = "cgroup v2 in a systemd scope, born inside by clone3"
