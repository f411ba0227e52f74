package landlock

import (
	"errors"
	"io/fs"
	"path"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
)

// A target is an object that is open as a place in the tree (O_PATH): it can be
// named in a rule, and neither read nor written through the descriptor.
type target struct {
	object
	fd int
}

func (t *target) close() { unix.Close(t.fd) }

// A notThere error says why a path leads to nothing that could be granted.
type notThere string

func (e notThere) Error() string { return string(e) }

const openPath = unix.O_PATH | unix.O_CLOEXEC

// open opens what is at an absolute path. Symbolic links are followed, and the
// target's place is where they led; those of /proc that lead to the open files and
// directories of a process are not (proc_pid_fd(5), proc_pid_root(5)). It returns a
// notThere error if there is nothing that could be granted.
func open(p string) (*target, error) {
	fd, err := openat2(unix.AT_FDCWD, p, unix.RESOLVE_NO_SYMLINKS)
	if err == nil {
		return newTarget(fd, p)
	}
	if !errors.Is(err, unix.ELOOP) {
		return nil, openError(p, err)
	}
	fd, err = openat2(unix.AT_FDCWD, p, unix.RESOLVE_NO_MAGICLINKS)
	if err != nil {
		return nil, openError(p, err)
	}
	place, err := placeOf(fd)
	if err == nil && within(place, ownProc) {
		err = invalid(p, "the path leads to the confiner's own entry in /proc, and to another one in every process")
	}
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return newTarget(fd, place)
}

// ownProc is what /proc/self leads to here.
var ownProc = "/proc/" + strconv.Itoa(unix.Getpid())

// openBelow opens the entry of a directory, which is not a symbolic link nor
// reached through one. place is where it is.
func openBelow(dir int, name, place string) (*target, error) {
	fd, err := openat2(dir, name, unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_BENEATH)
	if errors.Is(err, unix.ELOOP) {
		return nil, notThere("is a symbolic link")
	}
	if err != nil {
		return nil, openError(place, err)
	}
	return newTarget(fd, place)
}

// openat2 repeats a call that a signal or a rename on the way interrupted
// (openat2(2), EAGAIN).
func openat2(dir int, p string, resolve uint64) (int, error) {
	how := unix.OpenHow{Flags: openPath, Resolve: resolve}
	for {
		fd, err := unix.Openat2(dir, p, &how)
		if err != unix.EINTR && err != unix.EAGAIN {
			return fd, err
		}
	}
}

func newTarget(fd int, place string) (*target, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return nil, openError(place, err)
	}
	kind := st.Mode & unix.S_IFMT
	return &target{fd: fd, object: object{
		place:  place,
		id:     fileID{dev: uint64(st.Dev), ino: st.Ino}, //nolint:unconvert // Dev is 32 bits wide elsewhere
		dir:    kind == unix.S_IFDIR,
		device: kind == unix.S_IFCHR || kind == unix.S_IFBLK,
		socket: kind == unix.S_IFSOCK,
		public: st.Mode&unix.S_IROTH != 0,
		links:  uint64(st.Nlink), //nolint:unconvert // Nlink is 32 bits wide on arm64
	}}, nil
}

// placeOf returns the path of an open object as the kernel names it, having checked
// that the name leads back to the object: that of a removed file has " (deleted)"
// appended, and a rename may come in between.
func placeOf(fd int) (string, error) {
	var buf [unix.PathMax]byte
	n, err := unix.Readlink("/proc/self/fd/"+strconv.Itoa(fd), buf[:])
	if err != nil {
		return "", planError("/proc/self/fd", "cannot find out where a path leads", err)
	}
	place := string(buf[:n])
	var here, there unix.Stat_t
	if unix.Fstat(fd, &here) != nil || unix.Lstat(place, &there) != nil || here.Dev != there.Dev || here.Ino != there.Ino {
		return "", notThere("was moved or removed meanwhile")
	}
	return place, nil
}

// openError sorts the kernel's answers: what a policy may well name although it
// is not there, and what nobody can say anything about.
func openError(p string, err error) error {
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
		return notThere("does not exist")
	case errors.Is(err, unix.EACCES):
		return notThere("cannot be reached by this user")
	case errors.Is(err, unix.ELOOP):
		return notThere("goes round in a loop of symbolic links, or through one of a process's links in /proc")
	case errors.Is(err, unix.ENAMETOOLONG):
		return invalid(p, "the path is too long")
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM): // EPERM comes from filters of containers
		e := planError(p, "openat2(2) is missing or refused, and without it a path cannot be opened safely", err)
		e.Reason, e.Remedy = core.ErrUnsupported, "run on Linux 5.6 or later; let openat2 through in the container's seccomp profile"
		return e
	}
	return planError(p, "the kernel does not open a path of the policy", err)
}

func planError(p, detail string, err error) *core.Error {
	e := &core.Error{Reason: core.ErrNotPermitted, Stage: core.StagePlan, Backend: Name, Detail: detail, Path: p, Err: err}
	if errors.As(err, &e.Errno) {
		e.Err = nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		e.Reason = core.ErrNotFound
	}
	return e
}

// locate returns where a path leads, whether or not anything is there: the place
// of the deepest directory on the way that exists, and the rest as it stands. The
// object is nil if the path itself does not exist.
func locate(p string) (place string, o *object, err error) {
	for dir, rest := p, ""; ; dir, rest = path.Dir(dir), path.Join(path.Base(dir), rest) {
		t, err := open(dir)
		var missing notThere
		if errors.As(err, &missing) && dir != "/" {
			continue
		}
		if err != nil {
			return "", nil, err
		}
		t.close()
		if rest == "" {
			return t.place, &t.object, nil
		}
		return path.Join(t.place, rest), nil, nil
	}
}
