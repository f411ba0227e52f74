package landlock

import (
	"path"
	"slices"
	"strings"

	"github.com/pinfold/pinfold/core"
)

// mountDenial hides the denied object or makes it read-only, under each name that
// a grant reaches, and pins what leads there.
func (b *builder) mountDenial(d *denial, f core.Finding, cut core.Access) core.Finding {
	f.Mechanism += ", private mounts"
	for i, place := range d.places {
		switch c := d.cut[i]; {
		case c&core.Read != 0:
			d.mounts = append(d.mounts, core.Mount{Kind: core.MountEmpty, Target: place, ReadOnly: true})
		case c&core.Write != 0:
			d.mounts = append(d.mounts, core.Mount{Kind: core.MountBind, Source: place, Target: place, ReadOnly: true})
		default:
			continue
		}
		d.mounts = append(d.mounts, pins(place, d.movable[i])...)
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
	case slices.ContainsFunc(d.mounts, isPin):
		f.Remedy = "the directories that lead there cannot be renamed, and files can be copied but neither renamed nor linked into and out of them"
	}
	return f
}

// pins are mounts of the directories between a writable one and a denied place onto
// themselves. A mount point cannot be renamed or removed (EBUSY). Without that, the
// command could move the parent of what is denied aside and put another one there,
// whose contents are its own: a repository's .git with hooks of its choice.
func pins(place, writable string) []core.Mount {
	if writable == "" {
		return nil
	}
	var all []core.Mount
	for dir := path.Dir(place); dir != writable && within(dir, writable); dir = path.Dir(dir) {
		all = append(all, core.Mount{Kind: core.MountBind, Source: dir, Target: dir})
	}
	return all
}

func isPin(m core.Mount) bool { return m.Kind == core.MountBind && !m.ReadOnly }

// denialMounts are the mounts of all denials, outer ones first. What lies below
// something hidden is gone with it and must not be mounted on; and a pin below
// something read-only would make it writable again, and is not needed there.
func (b *builder) denialMounts() []core.Mount {
	var all, kept []core.Mount
	for _, d := range b.denials {
		all = append(all, d.mounts...)
	}
	slices.SortStableFunc(all, func(x, y core.Mount) int {
		if c := strings.Compare(x.Target, y.Target); c != 0 {
			return c
		}
		return strictness(y) - strictness(x)
	})
	for _, m := range all {
		covered := slices.ContainsFunc(kept, func(k core.Mount) bool {
			return within(m.Target, k.Target) && (k.Kind == core.MountEmpty || k.Target == m.Target || isPin(m) && !isPin(k))
		})
		if !covered {
			kept = append(kept, m)
		}
	}
	return kept
}

// strictness orders the mounts at one place: hiding, read-only, pin.
func strictness(m core.Mount) int {
	switch {
	case m.Kind == core.MountEmpty:
		return 2
	case m.ReadOnly:
		return 1
	}
	return 0
}
