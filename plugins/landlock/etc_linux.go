package landlock

import (
	"errors"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
)

// addEtcNames grants the names of /etc that hold no secrets.
func (b *builder) addEtcNames(rule core.PathRule, words string) (core.Finding, error) {
	words += ", of it the names that hold no secrets"
	f := core.Finding{Dimension: core.FSRead, Rule: words, Level: core.Enforced, Mechanism: b.mechanism(true, false)}
	if !b.handles(wholeFS) {
		return b.ungoverned(rule, words), nil
	}
	err := b.etc.each(func(t *target) error {
		if !t.public {
			return nil
		}
		access, _ := b.reduce(t.object, rule.Access)
		return b.addRule(t, access)
	})
	var missing notThere
	if errors.As(err, &missing) {
		return skippedOr(f, err)
	}
	return f, err
}

// An etcNamesCache keeps what etcNames lead to open from plan to plan: finding
// and opening them again is most of the time that a plan takes for root.
//
// It stays right because the directories tell: a directory's change time moves
// whenever a name in it comes, goes or leads elsewhere. What can change without
// that, the permission bits of a file, is read anew for every plan. Should a
// filesystem not keep its change times, a plan names a file that is no longer
// there, which grants nothing. What is open is closed with the process.
type etcNamesCache struct {
	dir    string        // /etc, but for tests
	settle time.Duration // settleTime, but for tests

	mu      sync.RWMutex
	dirs    []watchedDir // /etc, and those below it that names are in
	targets []*target
	settled bool
}

// A watchedDir is a directory as it was when its names were looked up.
type watchedDir struct {
	*target
	changed unix.Timespec
}

// settleTime is how long a directory must have been unchanged before its change
// time is trusted: two changes may fall within one tick of the kernel's clock
// (10 ms with CONFIG_HZ=100; finer since Linux 6.13) and leave the same time.
const settleTime = 2 * time.Second

// each calls f for the target of every name that exists. The target is valid
// during the call. If there is no /etc, the error is notThere.
func (c *etcNamesCache) each(f func(*target) error) error {
	now, err := open(c.dir)
	if err != nil {
		return err
	}
	defer now.close()
	c.mu.RLock()
	if c.fresh(now) {
		defer c.mu.RUnlock()
		return c.visit(f)
	}
	c.mu.RUnlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.fresh(now) {
		if err := c.fill(now); err != nil {
			c.drop()
			return err
		}
	}
	return c.visit(f)
}

// fresh reports whether what is open is still what the names lead to.
func (c *etcNamesCache) fresh(now *target) bool {
	if !c.settled || c.dirs[0].id != now.id {
		return false
	}
	for _, dir := range c.dirs {
		changed, err := changeTime(dir.fd)
		if err != nil || changed != dir.changed {
			return false
		}
	}
	return true
}

// visit calls f for every target, its permission bits as they are now.
func (c *etcNamesCache) visit(f func(*target) error) error {
	for _, t := range c.targets {
		var st unix.Stat_t
		if err := unix.Fstat(t.fd, &st); err != nil {
			return planError(t.place, "cannot look at a file again", err)
		}
		current := *t
		current.public = st.Mode&unix.S_IROTH != 0
		if err := f(&current); err != nil {
			return err
		}
	}
	return nil
}

// fill opens everything anew.
func (c *etcNamesCache) fill(now *target) error {
	c.drop()
	c.settled = true
	top, err := openBelow(now.fd, ".", now.place)
	if err != nil {
		return err
	}
	if err := c.watch(top); err != nil {
		return err
	}
	present, err := namesIn(now.fd)
	if err != nil {
		return planError(c.dir, "cannot list the directory", err)
	}
	seen := map[string]bool{}
	for _, name := range etcNames {
		if first, _, _ := strings.Cut(name, "/"); !present[first] {
			continue
		}
		for i, char := range name {
			if char == '/' && !seen[name[:i]] {
				seen[name[:i]] = true
				if err := c.openInto(now, name[:i], c.watch); err != nil {
					return err
				}
			}
		}
		if err := c.openInto(now, name, c.keep); err != nil {
			return err
		}
	}
	return nil
}

// openInto opens a name below /etc, if it is there, and hands it over.
func (c *etcNamesCache) openInto(dir *target, name string, accept func(*target) error) error {
	t, err := openBelow(dir.fd, name, dir.place+"/"+name)
	var missing notThere
	if errors.As(err, &missing) {
		return nil
	}
	if err != nil {
		return err
	}
	return accept(t)
}

func (c *etcNamesCache) keep(t *target) error {
	c.targets = append(c.targets, t)
	return nil
}

func (c *etcNamesCache) watch(t *target) error {
	changed, err := changeTime(t.fd)
	if err != nil {
		t.close()
		return planError(t.place, "cannot find out when a directory changed", err)
	}
	c.dirs = append(c.dirs, watchedDir{target: t, changed: changed})
	age := time.Since(time.Unix(changed.Unix()))
	c.settled = c.settled && age > c.settle
	return nil
}

// drop closes everything.
func (c *etcNamesCache) drop() {
	for _, dir := range c.dirs {
		dir.close()
	}
	for _, t := range c.targets {
		t.close()
	}
	c.dirs, c.targets, c.settled = nil, nil, false
}

func changeTime(fd int) (unix.Timespec, error) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	return st.Ctim, err
}
