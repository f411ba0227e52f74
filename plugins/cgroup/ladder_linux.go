package cgroup

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
)

// make makes the cgroup of a session that needs the given controllers, below the
// best directory there is, or opens it if it is there. The directory is settled
// once for each owner and set of controllers, by climbing down a ladder:
//
//  1. A cgroup in which sessions can be made and joined from where the owner is:
//     as root, in a delegated subtree, in a service of the user manager.
//  2. A scope of systemd with the owner in it, if the owner may be moved (see
//     scope.go): in a login session, in a service of another manager.
func (t *Tracker) make(ctx context.Context, stage core.Stage, name leafName, need controllers, move bool) (l *leaf, made bool, err error) {
	key := baseKey{name.owner, need}
	t.mu.Lock()
	base, ok := t.bases[key]
	t.mu.Unlock()
	if ok {
		l, made, err = t.makeBelow(stage, base, name)
		if err == nil {
			return l, made, nil
		}
		// The owner was moved, or rights have changed: look again.
	}
	p, err := locate(stage, name.owner.PID)
	if err != nil {
		return nil, false, err
	}
	l, made, tried, err := t.makeIn(stage, p, name, need)
	if len(tried) == 0 {
		return t.settled(key, l, made, err)
	}
	if !scopeWouldHelp(tried[0]) {
		return nil, false, refused(stage, tried, nil)
	}
	if !move {
		return nil, false, refused(stage, tried, here().notPermitted())
	}
	if refusal := t.moveToScope(ctx, p.hierarchy, name.owner); refusal != nil {
		return nil, false, refused(stage, tried, refusal)
	}
	if p, err = locate(stage, name.owner.PID); err != nil {
		return nil, false, err
	}
	l, made, tried, err = t.makeIn(stage, p, name, need)
	if len(tried) > 0 {
		err = refused(stage, tried, &scopeRefusal{why: "the host was moved into a scope of systemd, which did not help"})
	}
	return t.settled(key, l, made, err)
}

// A baseKey is what the directory for sessions depends on.
type baseKey struct {
	owner core.Owner
	need  controllers
}

func (t *Tracker) settled(key baseKey, l *leaf, made bool, err error) (*leaf, bool, error) {
	if err != nil {
		return nil, false, err
	}
	t.mu.Lock()
	t.bases[key] = l.parent()
	t.mu.Unlock()
	return l, made, nil
}

// makeIn makes the cgroup below the best of the directories of a place. If there
// is none, it says what each refused.
func (t *Tracker) makeIn(stage core.Stage, p *place, name leafName, need controllers) (*leaf, bool, []refusal, error) {
	var tried []refusal
	for _, base := range p.ranked(need) {
		l, made, err := t.makeBelow(stage, base, name)
		if err != nil {
			if errno := errnoOf(err); errno != 0 {
				tried = append(tried, refusal{base, stepMake, errno, false})
				continue
			}
			return nil, false, nil, err
		}
		if err := p.join(l); err != nil {
			if made {
				unix.Rmdir(l.path)
			}
			l.close()
			tried = append(tried, refusal{base, stepJoin, errnoOf(err), errors.Is(err, errKilledAtBirth)})
			continue
		}
		return l, made, nil, nil
	}
	return nil, false, tried, nil
}
