package landlock

import (
	"errors"
	"slices"
	"strings"

	llsys "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
)

// addFilesystem adds the rules about files, and reports on each: the system's paths
// first, then those of the policy in its order.
func (b *builder) addFilesystem(plan *core.Plan) error {
	p := b.policy.Filesystem
	if !p.Confined {
		return nil
	}
	if err := b.settleDenials(p.Rules); err != nil {
		return err
	}
	var findings []core.Finding
	if p.System {
		for _, s := range systemPaths {
			if !s.granted(b.design) {
				continue
			}
			f, err := b.addSystemPath(s)
			if err != nil {
				return err
			}
			findings = append(findings, f)
		}
	}
	byRule := make([]core.Finding, len(p.Rules))
	for i, r := range p.Rules {
		if r.Deny {
			continue
		}
		f, err := b.addGrant(r, ruleText(r))
		if err != nil {
			return err
		}
		byRule[i] = f
	}
	// A denial is judged by the grants that it cuts into.
	for _, d := range b.denials {
		byRule[d.rule] = b.finishDenial(d)
	}
	plan.Birth.Mounts = b.denialMounts()
	if len(plan.Birth.Mounts) > 0 {
		plan.Birth.Namespaces |= core.NamespaceMount
	}
	plan.Enforcement.Rules = append(findings, byRule...)
	return nil
}

func (b *builder) addSystemPath(s systemPath) (core.Finding, error) {
	rule := core.PathRule{Path: s.path, Access: s.access, Optional: true}
	words := "system: " + ruleText(rule)
	if s.path == etc && b.overridesModes() {
		return b.addEtcNames(rule, words)
	}
	f, err := b.addGrant(rule, words)
	if f.Gap == "" {
		f.Gap = s.caution
	}
	return f, err
}

// addGrant adds what a rule grants, less what denials and constraints take away.
func (b *builder) addGrant(rule core.PathRule, words string) (core.Finding, error) {
	if err := b.ctx.Err(); err != nil {
		return core.Finding{}, err
	}
	if !b.handles(wholeFS) {
		return b.ungoverned(rule, words), nil
	}
	f := core.Finding{Dimension: dimensionOf(rule.Access), Rule: words, Level: core.Enforced, Mechanism: b.mechanism(true, false)}
	t, err := open(rule.Path)
	if err != nil {
		return skippedOr(f, err)
	}
	defer t.close()
	if t.place != rule.Path {
		f.Rule += " (" + pathText(t.place) + ")"
	}
	access, takers := b.reduce(t.object, rule.Access)
	if len(takers) > 0 {
		f.Gap = "narrower than the rule: " + strings.Join(takers, ", ")
	}
	if access == 0 {
		f.Level, f.Mechanism, f.Gap = core.Skipped, "", "nothing was granted: "+strings.Join(takers, ", ")
		return f, nil
	}
	if access&core.Write != 0 && b.boundBelow(t.object) {
		f.Level = core.Partial
		f.Gap = "narrower than the rule: " + pathText(t.place) + " is granted entry by entry to leave out what the tracker forbids to write; " +
			"in a directory that leads there nothing can be created"
		if err := b.addAround(t); err != nil {
			return f, err
		}
		access &^= core.Write
	}
	if f.Gap == "" && access&core.Write != 0 && t.dir && !b.handles(moving) {
		f.Gap = "files cannot be renamed or linked from one directory to another"
		f.Observed, f.Required = b.machine.observedLandlock(), firstWith(moving).String()
	}
	return f, b.addRule(t, access)
}

// addRule adds one rule to the ruleset. Rules about one object add up.
func (b *builder) addRule(t *target, access core.Access) error {
	allowed := fsRights(access, t.object) & b.handled.fs
	return b.addRights(t, allowed)
}

func (b *builder) addRights(t *target, allowed uint64) error {
	if allowed == 0 {
		return nil // the kernel answers ENOMSG to a rule without rights
	}
	err := llsys.LandlockAddPathBeneathRule(int(b.ruleset.Fd()), &llsys.PathBeneathAttr{ParentFd: t.fd, AllowedAccess: allowed}, 0)
	if err != nil {
		return planError(t.place, "the kernel does not take a Landlock rule", err)
	}
	b.lines = append(b.lines, "path "+pathText(t.place)+": "+bitNames(allowed, fsRightNames))
	return nil
}

// reduce returns what is left of a grant of an object, and who took the rest.
func (b *builder) reduce(o object, access core.Access) (core.Access, []string) {
	var takers []string
	for _, d := range b.denials {
		if d.contains(o) && access&d.access != 0 {
			access &^= d.access
			takers = append(takers, d.words)
		}
		d.note(o, access)
	}
	for _, bd := range b.bounds {
		if within(o.place, bd.place) && access&core.Write != 0 {
			access &^= core.Write
			takers = append(takers, "the tracker forbids to write "+pathText(bd.place))
		}
	}
	return access, takers
}

// ungoverned is the finding for a rule on a machine without Landlock. A denial is
// lost; a grant has nothing to add to. The dimensions say what is open.
func (b *builder) ungoverned(rule core.PathRule, words string) core.Finding {
	f := core.Finding{Level: core.Skipped, Gap: "access to files is not restricted here, so there is nothing to grant"}
	if rule.Deny {
		f = b.lacksLandlock(core.Unsupported, wholeFS, "access to files is not restricted here")
	}
	f.Dimension, f.Rule = dimensionOf(rule.Access), words
	return f
}

// skippedOr turns the error of opening a path into a finding that says why nothing
// was granted, if it is about the path.
func skippedOr(f core.Finding, err error) (core.Finding, error) {
	var missing notThere
	if !errors.As(err, &missing) {
		return f, err
	}
	f.Level, f.Mechanism = core.Skipped, ""
	f.Gap = missing.Error() + "; nothing was granted"
	return f, nil
}

// namesIn lists a directory that is open as a place.
func namesIn(dir int) (map[string]bool, error) {
	fd, err := unix.Openat(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	names := make(map[string]bool)
	buf := make([]byte, 16<<10)
	var batch []string
	for {
		n, err := unix.ReadDirent(fd, buf)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return names, nil
		}
		_, _, batch = unix.ParseDirent(buf[:n], -1, batch[:0])
		for _, name := range batch {
			names[name] = true
		}
	}
}

// sortedNames is namesIn in a fixed order.
func sortedNames(dir int) ([]string, error) {
	set, err := namesIn(dir)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(set))
	for name := range set {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}
