package landlock

import (
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
)

// A denial takes accesses away from the grants that it meets.
type denial struct {
	rule   int // index in the policy's rules, -1 for one of our own
	words  string
	access core.Access
	// places are where the denied object is, under every mount point that shows
	// it; the first is the one that the rule named.
	places []string
	// found is the object, nil if there is none yet.
	found *object
	// cut are the accesses that grants of something above give to each place.
	cut []core.Access
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
	if b.hidesKernelMemory() {
		own := &denial{rule: -1, words: "kernel memory", access: core.Read}
		return b.settleDenial(own, kernelMemory)
	}
	return nil
}

func (b *builder) settleDenial(d *denial, path string) error {
	place, o, err := locate(path)
	if err != nil {
		return err
	}
	d.found, d.places = o, []string{place}
	if d.rule >= 0 && place != path {
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
	d.cut = make([]core.Access, len(d.places))
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
		if place != o.place && within(place, o.place) {
			d.cut[i] |= granted & d.access
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

// mountDenial hides the denied object or makes it read-only, under each name that
// a grant reaches.
func (b *builder) mountDenial(d *denial, f core.Finding, cut core.Access) core.Finding {
	f.Mechanism += ", private mounts"
	for i, place := range d.places {
		switch c := d.cut[i]; {
		case c == 0:
		case c&core.Read != 0:
			d.mounts = append(d.mounts, core.Mount{Kind: core.MountEmpty, Target: place, ReadOnly: true})
		case c&core.Write != 0:
			d.mounts = append(d.mounts, core.Mount{Kind: core.MountBind, Source: place, Target: place, ReadOnly: true})
		}
	}
	switch {
	case cut&core.Read == 0 && cut&core.Execute != 0:
		f.Gap = "execution cannot be denied below a grant unless reading is denied as well"
		f.Remedy = "deny reading too, or grant what is beside it"
		f.Level = core.Partial
		if len(d.mounts) == 0 {
			f.Level, f.Mechanism = core.Unsupported, ""
		}
	case !d.found.dir && d.found.links > 1:
		f.Level = core.Partial
		f.Gap = "the file has other names (hard links), under which a grant may still reach it"
	}
	return f
}

// denialMounts are the mounts of all denials, outer ones first. What lies below
// something hidden is gone with it and must not be mounted on.
func (b *builder) denialMounts() []core.Mount {
	var all, kept []core.Mount
	for _, d := range b.denials {
		all = append(all, d.mounts...)
	}
	slices.SortStableFunc(all, func(x, y core.Mount) int {
		if c := strings.Compare(x.Target, y.Target); c != 0 {
			return c
		}
		// Hiding comes first, and makes the rest at the same place superfluous.
		return int(y.Kind) - int(x.Kind)
	})
	for _, m := range all {
		covered := slices.ContainsFunc(kept, func(k core.Mount) bool {
			return within(m.Target, k.Target) && (k.Kind == core.MountEmpty || k.Target == m.Target)
		})
		if !covered {
			kept = append(kept, m)
		}
	}
	return kept
}
