package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/core/owner"
)

// socketParent is where the directory for backends' sockets goes: the user's
// runtime directory where there is one.
func socketParent() string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir
		}
	}
	return os.TempDir()
}

// privateDir makes, or finds, this user's directory below parent. Another user
// could have made it first, so its owner and mode are checked.
func privateDir(parent string) (string, error) {
	parent, err := resolved(parent)
	dir := filepath.Join(parent, "pinfold-"+strconv.Itoa(os.Geteuid()))
	if err == nil {
		err = os.Mkdir(dir, 0o700)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", &core.Error{
			Reason: core.ErrNotPermitted, Stage: core.StageOpen,
			Detail: "no private directory can be made", Remedy: "set TMPDIR to a directory you can write to", Err: err,
		}
	}
	info, err := os.Lstat(dir)
	if err == nil && (!info.IsDir() || info.Mode().Perm()&0o077 != 0 || !ownedByMe(info)) {
		err = errors.New("it is not a directory that you alone can use")
	}
	if err != nil {
		return "", &core.Error{
			Reason: core.ErrNotPermitted, Stage: core.StageOpen, Path: dir,
			Detail: "the private directory is not safe", Remedy: "remove it", Err: err,
		}
	}
	return dir, nil
}

func resolved(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}

// A tempName is what the name of a session's temporary directory says, so that a
// later host can tell from the name alone whether the owner is dead:
//
//	PID-START-PIDNS-TIMENS-BOOT-SESSION
//
// PIDNS and TIMENS are the namespaces in which PID and START have meaning: two
// containers may share the directory.
type tempName struct {
	owner   core.Owner
	view    view
	session core.SessionID
}

// A view is the pair of namespaces that a process sees others through, 0 where
// the system has none (namespaces(7)).
type view struct{ pid, time uint64 }

func (n tempName) String() string {
	return fmt.Sprintf("%d-%d-%d-%d-%s-%s", n.owner.PID, n.owner.Start, n.view.pid, n.view.time, bootKey(n.owner.Boot), n.session)
}

var tempNamePattern = regexp.MustCompile(`^(\d+)-(\d+)-(\d+)-(\d+)-([0-9a-f]*)-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$`)

// parseTempName parses what String returns. The boot is in the form of bootKey.
func parseTempName(s string) (n tempName, ok bool) {
	match := tempNamePattern.FindStringSubmatch(s)
	if match == nil {
		return n, false
	}
	var numbers [4]uint64
	for i := range numbers {
		var err error
		if numbers[i], err = strconv.ParseUint(match[i+1], 10, 64); err != nil {
			return n, false
		}
	}
	session, err := core.ParseSessionID(match[6])
	n = tempName{core.Owner{PID: int(numbers[0]), Start: numbers[1], Boot: match[5]}, view{numbers[2], numbers[3]}, session}
	return n, err == nil
}

func bootKey(boot string) string { return strings.ReplaceAll(strings.ToLower(boot), "-", "") }

// makeTemp makes a session's temporary directory.
func makeTemp(parent string, o core.Owner, id core.SessionID) (string, error) {
	dir := filepath.Join(parent, tempName{o, ownView(), id}.String())
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrNotExist) {
		// What cleans directories for temporary files has removed the parent.
		if _, err = privateDir(filepath.Dir(parent)); err == nil {
			err = os.Mkdir(dir, 0o700)
		}
	}
	if err != nil {
		return "", &core.Error{
			Reason: core.ErrNotPermitted, Stage: core.StageOpen, Detail: "the session's temporary directory cannot be made", Err: err,
		}
	}
	return dir, nil
}

// deadTemps returns the names of the temporary directories whose owner is known
// to be dead.
func deadTemps(parent string) ([]tempName, error) {
	self, err := owner.Self()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(parent)
	if err != nil {
		return nil, err
	}
	var dead []tempName
	for _, entry := range entries {
		name, ok := parseTempName(entry.Name())
		if ok && name.ownerIsDead(self) {
			dead = append(dead, name)
		}
	}
	return dead, nil
}

// ownerIsDead reports whether the owner is known to be dead: in another boot
// everybody of this one is, in other namespaces it cannot be told.
func (n tempName) ownerIsDead(self core.Owner) bool {
	if n.owner.Boot != bootKey(self.Boot) {
		return true
	}
	if n.view != ownView() {
		return false
	}
	alive, err := owner.Alive(core.Owner{PID: n.owner.PID, Start: n.owner.Start, Boot: self.Boot})
	return err == nil && !alive
}

// removeTemps removes the temporary directories of these names, but for those of
// sessions that live on.
func removeTemps(ctx context.Context, parent string, names []tempName, live []core.SessionStatus) error {
	alive := map[core.SessionID]bool{}
	for _, s := range live {
		alive[s.Handle.Session] = true
	}
	var errs []error
	for _, name := range names {
		if !alive[name.session] {
			errs = append(errs, removeTree(ctx, filepath.Join(parent, name.String())))
		}
	}
	return errors.Join(errs...)
}
