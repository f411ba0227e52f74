//go:build linux

package landlock

import (
	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
)

// fsFinding answers for a dimension of the filesystem when there is nothing to
// enforce it, or nothing to enforce; ok reports whether it did.
func fsFinding(d *design, gap string) (f core.Finding, ok bool) {
	switch {
	case !d.policy.Filesystem.Confined:
		return notAsked("the policy does not confine the filesystem", "confine it, and grant what is needed"), true
	case !d.handles(wholeFS):
		return d.lacksLandlock(core.Unsupported, wholeFS, gap), true
	}
	return core.Finding{}, false
}

func fsReadFinding(d *design) core.Finding {
	if f, ok := fsFinding(d, "every file of the user can be read"); ok {
		return f
	}
	return d.enforced(true, false)
}

func fsWriteFinding(d *design) core.Finding {
	if f, ok := fsFinding(d, "every file of the user can be written"); ok {
		return f
	}
	switch {
	case d.handles(truncation):
		return d.enforced(true, false)
	case d.filter != nil && d.filter.CloseTruncate:
		f := d.enforced(true, true)
		f.Remedy = "truncate(2) by path is refused everywhere, granted files included; " + d.machine.landlockRemedy(truncation) + " to have it back"
		return f
	}
	f := d.lacksLandlock(core.Partial, truncation, "every file of the user can be truncated, and so emptied")
	f.Mechanism = d.mechanism(true, false)
	return f
}

func fsExecuteFinding(d *design) core.Finding {
	if f, ok := fsFinding(d, "every program can be executed"); ok {
		return f
	}
	return d.partial(true, false,
		"execve(2) is held; the dynamic loader given as a program runs any file that can be read, and a memfd runs anything", "")
}

func fsMetadataFinding(d *design) core.Finding {
	if !d.policy.Filesystem.Confined {
		return notAsked("the policy does not confine the filesystem", "confine it, and grant what is needed")
	}
	whose := "the user's own files"
	if d.has(unix.CAP_FOWNER, unix.CAP_CHOWN) {
		whose = "all files"
	}
	return core.Finding{Level: core.Unsupported,
		Gap:      "modes, owners, times and extended attributes of " + whose + " can be changed, and files be looked for by name (chmod, chown, utimensat, setxattr, stat)",
		Observed: d.machine.observedLandlock(),
		Required: "a Landlock right for metadata, which no kernel has yet"}
}
