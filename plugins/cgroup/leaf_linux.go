package cgroup

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
)

// handleState is the version of the data in a handle: the path of the
// session's directory.
const handleState = 1

// A leaf is the open cgroup of a session.
type leaf struct {
	fd   int // O_PATH
	path string
	name leafName
	// cgroup is its path in the tracker's cgroup namespace, as /proc/PID/cgroup
	// shows it.
	cgroup string
}

func (l *leaf) close() { unix.Close(l.fd) }

// parent is the directory that the session was made below.
func (l *leaf) parent() string { return path.Dir(l.path) }

func (l *leaf) handle() core.Handle { return handleOf(l.name, l.path) }

func handleOf(name leafName, path string) core.Handle {
	return core.Handle{Session: name.session, Tracker: Name, State: handleState, Data: []byte(path)}
}

// errGone: the session does not exist, or no longer.
var errGone = errors.New("cgroup: the session's cgroup does not exist")

// parseHandle returns where the session of a handle is, from the handle alone.
func parseHandle(stage core.Stage, h core.Handle) (string, leafName, error) {
	malformed := func(reason core.Reason, format string, args ...any) error {
		return &core.Error{Reason: reason, Stage: stage, Backend: Name, Detail: "malformed handle: " + fmt.Sprintf(format, args...)}
	}
	directory := string(h.Data)
	name, ok := parseLeafName(path.Base(directory))
	switch {
	case h.Tracker != Name:
		return "", leafName{}, malformed(core.ErrInvalidRequest, "it is of the tracker %q", h.Tracker)
	case h.State != handleState:
		return "", leafName{}, malformed(core.ErrUnknownFeature, "its format is %d, and this version knows %d", h.State, handleState)
	case !filepath.IsAbs(directory) || filepath.Clean(directory) != directory || strings.ContainsRune(directory, 0):
		return "", leafName{}, malformed(core.ErrInvalidRequest, "%q is not a clean absolute path", directory)
	case !ok || name.session != h.Session:
		return "", leafName{}, malformed(core.ErrInvalidRequest, "%q is not the cgroup of session %s", directory, h.Session)
	}
	return directory, name, nil
}

// openLeaf opens the session of a handle, or returns errGone. A handle is only
// words: what it names must be, in the kernel, a cgroup of this user with the
// name of that very session.
func (t *Tracker) openLeaf(stage core.Stage, h core.Handle) (*leaf, error) {
	directory, name, err := parseHandle(stage, h)
	if err != nil {
		return nil, err
	}
	return t.openDirectoryAsLeaf(stage, directory, name)
}

func (t *Tracker) openDirectoryAsLeaf(stage core.Stage, directory string, name leafName) (*leaf, error) {
	mounts, err := mountTable.read()
	if err != nil {
		return nil, failure(stage, core.ErrUnavailable, "/proc/self/mountinfo", err, "reading the mounts")
	}
	notOurs := func(err error, why string) error {
		return failure(stage, core.ErrInvalidRequest, directory, err, why)
	}
	h, ok := hierarchyOf(mounts, directory)
	if !ok {
		return nil, notOurs(nil, "not in a mounted cgroup v2 filesystem")
	}
	l := &leaf{path: directory, name: name}
	if l.cgroup, ok = h.cgroup(directory); !ok || path.Base(l.cgroup) != name.String() {
		return nil, notOurs(nil, "the cgroup at this path has another name")
	}
	l.fd, err = openDirectory(unix.AT_FDCWD, directory, unix.O_PATH)
	if errors.Is(err, unix.EACCES) {
		reopenAbove(h.point, directory)
		l.fd, err = openDirectory(unix.AT_FDCWD, directory, unix.O_PATH)
	}
	if isGone(err) {
		return nil, errGone
	}
	if err != nil {
		return nil, failure(stage, core.ErrNotPermitted, directory, err, "opening the session's cgroup")
	}
	if err := l.check(t.uid); err != nil {
		l.close()
		return nil, notOurs(nil, err.Error())
	}
	return l, nil
}

// reopenAbove takes back the rights to the cgroups on the way from a mount point
// to a directory, as far as they are the tracker's own (see reopen).
func reopenAbove(point, directory string) {
	for i := len(point); i < len(directory); i++ {
		if directory[i] == '/' {
			reopen(unix.AT_FDCWD, directory[:i])
		}
	}
}

// check makes sure that the open directory is what the path said when the
// mounts were read: a cgroup of this user, and by its own name, not by the name
// of a mount point.
func (l *leaf) check(uid int) error {
	cgroup2, err := isCgroup2(l.fd)
	if err != nil {
		return err
	}
	if !cgroup2 {
		return errors.New("not a cgroup")
	}
	st, err := statx(l.fd, unix.STATX_UID|unix.STATX_MODE)
	if err != nil {
		return err
	}
	if st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0 { // Linux 5.8
		return errors.New("a mount point, not a session's cgroup")
	}
	if !l.name.belongsTo(uid, st.Uid) {
		return fmt.Errorf("it belongs to user %d, and this tracker runs as %d", st.Uid, uid)
	}
	if st.Mode&0o700 != 0o700 {
		reopen(l.fd, ".")
	}
	return nil
}

func statx(fd int, mask int) (*unix.Statx_t, error) {
	var st unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, mask, &st); err != nil {
		return nil, pathError("statx", "", err)
	}
	return &st, nil
}

// events returns the text of cgroup.events, or errGone.
func (l *leaf) events() ([]byte, error) {
	text, err := readFile(l.fd, "cgroup.events")
	if isGone(err) {
		return nil, errGone
	}
	return text, err
}

// populated reports whether a process is in the cgroup or below it. A zombie is
// not (cgroups(7)).
func (l *leaf) populated() (bool, error) {
	text, err := l.events()
	if err != nil {
		return false, err
	}
	return isSet(text, "populated"), nil
}
