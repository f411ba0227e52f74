package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/core/owner"
)

// here returns the surroundings of this process. A backend gets the two variables
// from its host.
func here() surroundings {
	return surroundings{
		uid:        os.Geteuid(),
		busAddress: os.Getenv("DBUS_SESSION_BUS_ADDRESS"),
		runtimeDir: os.Getenv("XDG_RUNTIME_DIR"),
		exists:     func(path string) bool { return unix.Access(path, unix.F_OK) == nil },
	}
}

// callManager connects to the user manager, if there is one, for the time of f.
func callManager(ctx context.Context, s surroundings, f func(context.Context, *userManager) error) *scopeRefusal {
	sockets := s.buses()
	if len(sockets) == 0 {
		absence := s.absence()
		return &absence
	}
	ctx, cancel := context.WithTimeout(ctx, managerTimeout)
	defer cancel()
	m, err := dialManager(ctx, sockets)
	if err != nil {
		return &scopeRefusal{
			why:    "the user's service manager cannot be reached",
			remedy: "see whether it answers: systemctl --user status",
			err:    err,
		}
	}
	defer m.close()
	if err := f(ctx, m); err != nil {
		return &scopeRefusal{why: "the user's service manager refuses a scope", remedy: "see journalctl --user", err: err}
	}
	return nil
}

// moveToScope moves the owner into a scope of its own, unless it is in one, and
// there into the host group. It does so once: an owner that left its scope is not
// moved again.
//
// A pid is all that systemd and the kernel take here. The owner is looked at right
// before, and what came of it right after; if in between it died and its pid went
// to another process of this user, that one was moved, and the error says so.
func (t *Tracker) moveToScope(ctx context.Context, h hierarchy, o core.Owner) *scopeRefusal {
	t.moving.Lock()
	defer t.moving.Unlock()
	cgroup, err := cgroupOf(o.PID)
	if err != nil {
		return &scopeRefusal{why: "the cgroup of the host cannot be read", err: err}
	}
	scope, ok := scopeOf(cgroup)
	switch {
	case inSession(cgroup):
		return errInSession
	case !ok && t.moved[o]:
		return &scopeRefusal{why: fmt.Sprintf("the host was moved to a scope once, and from there to %q", cgroup)}
	case !ok:
		refusal := callManager(ctx, here(), func(ctx context.Context, m *userManager) error {
			if alive, err := owner.Alive(o); err != nil || !alive {
				return fmt.Errorf("process %d is gone (%v)", o.PID, err)
			}
			if err := m.startScope(ctx, scopeName(o), scopeProperties(o.PID)); err != nil {
				return err
			}
			scope, err = waitForScope(ctx, o)
			return err
		})
		if refusal != nil {
			return refusal
		}
		t.moved[o] = true
	}
	directory, ok := h.directory(scope)
	if !ok {
		return &scopeRefusal{why: fmt.Sprintf("the scope %q is not below the cgroup filesystem that is mounted here", scope)}
	}
	if err := settleHost(ctx, directory); err != nil {
		return &scopeRefusal{why: "the host cannot be moved within its scope", err: err}
	}
	return nil
}

// errInSession is the answer to a host that runs in a session itself.
var errInSession = &scopeRefusal{why: "the host runs in a session itself, which nothing may leave"}

// waitForScope returns the scope that the owner is in. It is there when systemd
// has said so, but for a scope that another tracker of the same host asked for at
// the same time.
func waitForScope(ctx context.Context, o core.Owner) (string, error) {
	for {
		cgroup, err := cgroupOf(o.PID)
		if err != nil {
			return "", err
		}
		if scope, ok := scopeOf(cgroup); ok {
			return scope, nil
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("process %d is still in %q: %w", o.PID, cgroup, context.Cause(ctx))
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// settleHost moves the host into the host group of its scope, with what it started
// since it is in the scope, so that the scope itself is free of processes.
func settleHost(ctx context.Context, scope string) error {
	group := scope + "/" + hostGroup
	if err := unix.Mkdir(group, 0o755); err != nil && err != unix.EEXIST {
		return pathError("mkdir", group, err)
	}
	text, err := readFile(unix.AT_FDCWD, scope+"/cgroup.procs")
	for err == nil && ctx.Err() == nil {
		pids := numbers(text)
		if len(pids) == 0 {
			return nil
		}
		for _, pid := range pids {
			err := writeFile(unix.AT_FDCWD, group+"/cgroup.procs", strconv.Itoa(pid))
			if err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
		}
		text, err = readFile(unix.AT_FDCWD, scope+"/cgroup.procs")
	}
	return errors.Join(err, ctx.Err())
}

// cgroupOf returns the cgroup of a process.
func cgroupOf(pid int) (string, error) {
	file := "/proc/" + strconv.Itoa(pid) + "/cgroup"
	text, err := readFile(unix.AT_FDCWD, file)
	if err != nil {
		return "", err
	}
	cgroup, ok := ownCgroup(text)
	if !ok {
		return "", pathError("read", file, unix.ENODATA)
	}
	return cgroup, nil
}
