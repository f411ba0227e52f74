package landlock

import (
	"errors"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/plugins/landlock/seccomp"
)

// A bound is a place at and below which nothing may be written.
type bound struct{ place string }

// A bar is a unix socket that may not be reached.
type bar struct {
	place string
	found *object
}

// settleConstraints finds out where the tracker's constraints are, before any grant.
// Which sockets are barred matters only if some are to be granted.
func (b *builder) settleConstraints(constraints []core.Constraint) error {
	for _, c := range constraints {
		if c.Kind == core.NoConnect && !b.unixPaths || c.Kind == core.NoWriteBelow && !b.policy.Filesystem.Confined {
			continue
		}
		place, o, err := locate(c.Path)
		if err != nil {
			return err
		}
		if c.Kind == core.NoWriteBelow {
			b.bounds = append(b.bounds, bound{place})
		} else {
			b.barred = append(b.barred, bar{place, o})
		}
	}
	return nil
}

// boundBelow reports whether a bound lies inside the object.
func (b *builder) boundBelow(o object) bool {
	for _, bd := range b.bounds {
		if bd.place != o.place && within(bd.place, o.place) {
			return true
		}
	}
	return false
}

// addAround grants writing in a directory but for the bounds inside it: each entry
// that has no bound in it, whole; an entry that has one, in the same way. The
// directories that lead to a bound get no right of their own, so none of them can
// be moved and nothing can be created beside the way. Symbolic links are left out:
// what they lead to is granted, or not, where it is.
func (b *builder) addAround(t *target) error {
	names, err := sortedNames(t.fd)
	if err != nil {
		// Whoever cannot list it is granted nothing in it, which is on the safe side.
		return nil
	}
	for _, name := range names {
		place := t.place + "/" + name
		if t.place == "/" {
			place = "/" + name
		}
		entry, err := openBelow(t.fd, name, place)
		var missing notThere
		if errors.As(err, &missing) {
			continue
		}
		if err != nil {
			return err
		}
		err = b.addEntry(entry)
		entry.close()
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) addEntry(entry *target) error {
	access, _ := b.reduce(entry.object, core.Write)
	switch {
	case access == 0:
		return nil
	case b.boundBelow(entry.object):
		return b.addAround(entry)
	}
	return b.addRule(entry, access)
}

// answer reports on every constraint.
func (b *builder) answer(constraints []core.Constraint) []core.ConstraintFinding {
	var all []core.ConstraintFinding
	for _, c := range constraints {
		f := core.ConstraintFinding{Constraint: c}
		if c.Kind == core.NoWriteBelow {
			b.answerNoWrite(&f)
		} else {
			b.answerNoConnect(&f)
		}
		all = append(all, f)
	}
	return all
}

func (b *builder) answerNoWrite(f *core.ConstraintFinding) {
	switch {
	case !b.policy.Filesystem.Confined:
		f.Gap = "the policy does not confine the filesystem"
		f.Remedy = "use a policy that confines it"
	case !b.handles(wholeFS):
		f.Gap = b.machine.observedLandlock()
		f.Remedy = b.machine.landlockRemedy(wholeFS)
	case !b.handles(truncation) && (b.filter == nil || !b.filter.CloseTruncate):
		f.Gap = "files can be truncated: " + b.machine.observedLandlock()
		f.Remedy = b.machine.landlockRemedy(truncation)
	default:
		f.Honoured = true
	}
}

// answerNoConnect: sockets are out of reach if none can be made, or if Landlock
// governs paths; a grant of a barred socket was left out then (see addSocket).
func (b *builder) answerNoConnect(f *core.ConstraintFinding) {
	switch {
	case b.policy.Unix.Mode != core.UnixNone:
		f.Gap = "the policy does not confine unix sockets"
		f.Remedy = "use a policy that confines them"
	case b.filter != nil && b.filter.Unix == seccomp.UnixClosed, b.handles(pathUnix):
		f.Honoured = true
	default:
		f.Gap = "unix sockets can be connected to by path: " + b.machine.observedLandlock() + ", and no seccomp filter"
		f.Remedy = filterRemedy
	}
}
