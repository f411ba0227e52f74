package cgroup

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// Files of the cgroup filesystem are read and written with plain system calls:
// package os would hand each to the runtime's poller, which kernfs accepts and
// which costs more than the read.

// readFile reads a file of a cgroup. dir is a descriptor, or unix.AT_FDCWD for
// an absolute name.
func readFile(dir int, name string) ([]byte, error) {
	fd, err := openFile(dir, name, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	// One page is the most that these files return at once.
	text := make([]byte, 0, 4096)
	for {
		n, err := rawReader(fd).Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		if err == io.EOF {
			return text, nil
		}
		if err != nil {
			return nil, pathError("read", name, err)
		}
		text = slices.Grow(text, 1)
	}
}

// writeFile writes a file of a cgroup in one call, as the kernel wants it.
func writeFile(dir int, name, text string) error {
	fd, err := openFile(dir, name, unix.O_WRONLY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for {
		_, err := unix.Write(fd, []byte(text))
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return pathError("write", name, err)
		}
		return nil
	}
}

// openFile opens a file of a cgroup. If the tracker has lost its rights to it,
// it takes them back.
func openFile(dir int, name string, flags int) (int, error) {
	fd, err := unix.Openat(dir, name, flags|unix.O_CLOEXEC, 0)
	if err == unix.EACCES && dir != unix.AT_FDCWD {
		reopen(dir, name)
		fd, err = unix.Openat(dir, name, flags|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return -1, pathError("open", name, err)
	}
	return fd, nil
}

// reopen gives the tracker's user all rights to a cgroup, and to a file or a
// cgroup in it, as far as they are this user's own. A process of the session
// is of the same user and can take them away: Landlock, which keeps it from
// writing to these files, does not restrict chmod(2).
func reopen(dir int, name string) {
	if dir != unix.AT_FDCWD {
		// By way of /proc, since dir may be open with O_PATH, and without the
		// right to search it there is no other name for it.
		unix.Chmod("/proc/self/fd/"+strconv.Itoa(dir), 0o755)
	}
	unix.Fchmodat(dir, name, 0o755, 0)
}

// openDirectory opens a directory for reading its entries, or with
// unix.O_PATH in flags, for naming it. It follows no link at the end.
func openDirectory(dir int, name string, flags int) (int, error) {
	fd, err := unix.Openat(dir, name, flags|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, pathError("open", name, err)
	}
	return fd, nil
}

func pathError(op, name string, err error) error {
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// isGone reports whether err means that a cgroup was removed: ENOENT when it
// is looked up, ENODEV when an open file of it is used.
func isGone(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENODEV)
}

// isCgroup2 reports whether fd is in a cgroup v2 filesystem.
func isCgroup2(fd int) (bool, error) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil {
		return false, err
	}
	return st.Type == unix.CGROUP2_SUPER_MAGIC, nil
}

// numbers parses the lines of a cgroup.procs or cgroup.threads.
func numbers(text []byte) []int {
	var all []int
	for line := range bytes.Lines(text) {
		if n, err := strconv.Atoi(string(bytes.TrimSpace(line))); err == nil {
			all = append(all, n)
		}
	}
	return all
}

// isSet returns a value of a file of lines "KEY 0" or "KEY 1".
func isSet(text []byte, key string) bool {
	for line := range bytes.Lines(text) {
		if value, ok := bytes.CutPrefix(line, []byte(key+" ")); ok {
			return bytes.TrimSpace(value)[0] == '1'
		}
	}
	return false
}
