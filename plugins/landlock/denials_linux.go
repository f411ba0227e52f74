package landlock

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
)

// A denial takes accesses away from the grants that it meets.
type denial struct {
	rule   int // index in the policy's rules
	words  string
	access core.Access
	// places are where the denied object is, under every mount point that shows
	// it; the first is the one that the rule named.
	places []string
	// found is the object, nil if there is none yet.
	found *object
	// cut are the accesses that grants of something above give to each place.
	cut []core.Access
	// movable is, for each place, the outermost directory above it in which a grant
	// gives writing, and with it the renaming of what leads to the place; or "".
	movable []string
	// mounts are what closes it.
	mounts []core.Mount
}

// settleDenials finds out where the policy's denials are, before any grant.
func (b *builder) settleDenials(rules []core.PathRule) error {
	if !b.handles(wholeFS) {
		for i, r := range rules {
			if r.Deny {
				b.denials = append(b.denials, &denial{rule: i, words: ruleText(r), access: r.Access})
			}
		}
		return nil
	}
	for i, r := range rules {
		if !r.Deny {
			continue
		}
		if err := b.settleDenial(&denial{rule: i, words: ruleText(r), access: r.Access}, r.Path); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) settleDenial(d *denial, path string) error {
	place, o, err := locate(path)
	if err != nil {
		return err
	}
	d.found, d.places = o, []string{place}
	if place != path {
		d.words += " (" + pathText(place) + ")"
	}
	if o != nil && !o.device {
		if b.mountTable == nil {
			if b.mountTable, err = readMounts(); err != nil {
				return err
			}
		}
		for _, name := range b.mountTable.otherNames(place) {
			// A name under a mount that another one covers leads nowhere.
			if unix.Lstat(name, new(unix.Stat_t)) == nil {
				d.places = append(d.places, name)
			}
		}
	}
	d.cut, d.movable = make([]core.Access, len(d.places)), make([]string, len(d.places))
	b.denials = append(b.denials, d)
	return nil
}

// contains reports whether the object is the denied one or below it. A device node
// is told by its place alone: container engines mount /dev/null over what they
// hide, and to deny that is not to deny /dev/null.
func (d *denial) contains(o object) bool {
	if d.found != nil && d.found.id == o.id && !o.device {
		return true
	}
	return slices.ContainsFunc(d.places, func(place string) bool { return within(o.place, place) })
}

// note remembers that a grant of an object gives access to the denied one.
func (d *denial) note(o object, granted core.Access) {
	for i, place := range d.places {
		if place == o.place || !within(place, o.place) {
			continue
		}
		d.cut[i] |= granted & d.access
		if granted&core.Write != 0 && (d.movable[i] == "" || within(d.movable[i], o.place)) {
			d.movable[i] = o.place
		}
	}
}

// finishDenial decides how a denial is held, now that every grant is known.
func (b *builder) finishDenial(d *denial) core.Finding {
	f := core.Finding{Dimension: dimensionOf(d.access), Rule: d.words, Level: core.Enforced, Mechanism: b.mechanism(true, false)}
	if !b.handles(wholeFS) {
		return b.ungoverned(core.PathRule{Access: d.access, Deny: true}, d.words)
	}
	var cut core.Access
	for _, c := range d.cut {
		cut |= c
	}
	switch {
	case cut == 0:
		return f
	case d.found == nil:
		return b.absentDenial(d, f, cut)
	case !b.machine.mounter:
		f.Level, f.Mechanism = core.Unsupported, ""
		f.Gap = "a grant of a directory above gives " + accessText(cut) + " access, and Landlock has no denials"
		f.Observed, f.Required = "no CAP_SYS_ADMIN", "CAP_SYS_ADMIN, for a private mount"
		f.Remedy = "grant what is beside it instead of the directory above, or run with CAP_SYS_ADMIN"
		return f
	}
	return b.mountDenial(d, f, cut)
}

// absentDenial is the answer for something that does not exist: there is nothing
// to mount on, and making it would leave it behind.
func (b *builder) absentDenial(d *denial, f core.Finding, cut core.Access) core.Finding {
	f.Mechanism = ""
	f.Remedy = "create it beforehand, or grant what is beside it instead of the directory above"
	switch {
	case b.policy.Filesystem.Rules[d.rule].Optional:
		f.Level = core.Skipped
		f.Gap = "does not exist; if it is created under a grant, the grant counts"
	case cut&core.Write != 0:
		f.Level = core.Unsupported
		f.Gap = "does not exist, and the command can create it under a grant of a directory above"
	default:
		f.Level = core.Unsupported
		f.Gap = "does not exist; if somebody creates it, a grant of a directory above gives " + accessText(cut) + " access"
	}
	return f
}
