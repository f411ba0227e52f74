package host

import (
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
	dir := filepath.Join(parent, "pinfold-"+strconv.Itoa(os.Geteuid()))
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
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

// tempName names a session's temporary directory after the session and its
// owner, so that a later host can tell from the name alone whether it is dead.
func tempName(o core.Owner, id core.SessionID) string {
	return fmt.Sprintf("%d-%d-%s-%s", o.PID, o.Start, bootKey(o.Boot), id)
}

var tempNamePattern = regexp.MustCompile(`^(\d+)-(\d+)-([0-9a-f]*)-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$`)

func bootKey(boot string) string { return strings.ReplaceAll(strings.ToLower(boot), "-", "") }

// makeTemp makes a session's temporary directory.
func makeTemp(parent string, o core.Owner, id core.SessionID) (string, error) {
	dir := filepath.Join(parent, tempName(o, id))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", &core.Error{
			Reason: core.ErrNotPermitted, Stage: core.StageOpen, Detail: "the session's temporary directory cannot be made", Err: err,
		}
	}
	return dir, nil
}

// removeTemp removes a session's temporary directory, whatever its commands did
// to the modes in it.
func removeTemp(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		return nil
	}
	filepath.WalkDir(dir, func(path string, entry fs.DirEntry, _ error) error {
		if entry != nil && entry.IsDir() {
			os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// sweepTemp removes the temporary directories of sessions whose owner is dead
// and which are not among those that live on.
func sweepTemp(parent string, live []core.SessionStatus) error {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return err
	}
	alive := map[string]bool{}
	for _, s := range live {
		alive[s.Handle.Session.String()] = true
	}
	var errs []error
	for _, entry := range entries {
		match := tempNamePattern.FindStringSubmatch(entry.Name())
		if match == nil || alive[match[4]] {
			continue
		}
		dead, err := ownerDead(match[1], match[2], match[3])
		if err == nil && dead {
			err = removeTemp(filepath.Join(parent, entry.Name()))
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func ownerDead(pid, start, boot string) (bool, error) {
	self, err := owner.Self()
	if err != nil {
		return false, err
	}
	if boot != bootKey(self.Boot) {
		return true, nil
	}
	o := core.Owner{Boot: self.Boot}
	if o.PID, err = strconv.Atoi(pid); err != nil {
		return false, err
	}
	if o.Start, err = strconv.ParseUint(start, 10, 64); err != nil {
		return false, err
	}
	alive, err := owner.Alive(o)
	return !alive, err
}
