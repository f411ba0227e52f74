package cgroup

import (
	"context"
	"encoding/binary"
	"errors"

	"golang.org/x/sys/unix"
)

// A payload that nobody confines makes cgroups as deep as it likes. So the tree
// is walked with one open directory and names alone, going back by "..". That
// is safe since a cgroup v2 directory is never moved.

// What to do about a cgroup that may not be opened even after the tracker took
// back what rights are its own.
type denied int

const (
	// skipDenied leaves it out: it is somebody else's.
	skipDenied denied = iota
	// failDenied gives up: it is in a session, and something may be hidden in it.
	failDenied
)

// walk calls visit for the cgroup top and every cgroup below it, parents first,
// with the path below top ("" for top itself). Cgroups that vanish meanwhile are
// left out. An error of visit ends it.
func walk(ctx context.Context, top int, onDenied denied, visit func(dir int, path string) error) error {
	dir, err := openDirectory(top, ".", unix.O_RDONLY)
	if err != nil {
		return err
	}
	defer func() { unix.Close(dir) }()
	if err := visit(dir, ""); err != nil {
		return err
	}
	names, err := children(dir)
	if err != nil {
		return err
	}
	path, todo := "", [][]string{names}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		last := len(todo) - 1
		if len(todo[last]) == 0 {
			if last == 0 {
				return nil
			}
			todo = todo[:last]
			path = path[:len(path)-len(lastName(path))-1]
			if err := change(&dir, ".."); err != nil {
				return err
			}
			continue
		}
		name := todo[last][0]
		todo[last] = todo[last][1:]
		if err := change(&dir, name); err != nil {
			if isGone(err) || onDenied == skipDenied && errors.Is(err, unix.EACCES) {
				continue
			}
			return err
		}
		path += "/" + name
		if err := visit(dir, path); err != nil {
			return err
		}
		names, err := children(dir)
		if err != nil && !isGone(err) {
			return err
		}
		todo = append(todo, names)
	}
}

// removeBelow removes every cgroup below top, the deepest first. It stops with
// EBUSY at one that has processes.
func removeBelow(ctx context.Context, top int) error {
	dir, err := openDirectory(top, ".", unix.O_RDONLY)
	if err != nil {
		return err
	}
	defer func() { unix.Close(dir) }()
	var path []string
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		busy, err := removeChildren(dir)
		if err != nil {
			return err
		}
		if busy != "" {
			switch err := change(&dir, busy); {
			case err == nil:
				path = append(path, busy)
			case !isGone(err):
				return err
			}
			continue
		}
		if len(path) == 0 {
			return nil
		}
		name := path[len(path)-1]
		path = path[:len(path)-1]
		if err := change(&dir, ".."); err != nil {
			return err
		}
		// It has no children left, so EBUSY now means that it has processes.
		if err := remove(dir, name); err != nil {
			return err
		}
	}
}

// removeChildren removes the cgroups in dir until one is busy, and returns that
// one's name.
func removeChildren(dir int) (busy string, err error) {
	names, err := children(dir)
	if err != nil && !isGone(err) {
		return "", err
	}
	for _, name := range names {
		err := remove(dir, name)
		if errors.Is(err, unix.EBUSY) {
			return name, nil
		}
		if err != nil {
			return "", err
		}
	}
	return "", nil
}

// remove removes one cgroup; one that does not exist is removed already.
func remove(dir int, name string) error {
	err := unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
	if err == unix.EACCES {
		reopen(dir, name)
		err = unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
	}
	if err == nil || isGone(err) {
		return nil
	}
	return pathError("rmdir", name, err)
}

// change replaces the open directory by another, named relative to it.
func change(dir *int, name string) error {
	next, err := openDirectory(*dir, name, unix.O_RDONLY)
	if errors.Is(err, unix.EACCES) {
		reopen(*dir, name)
		next, err = openDirectory(*dir, name, unix.O_RDONLY)
	}
	if err != nil {
		return err
	}
	unix.Close(*dir)
	*dir = next
	return nil
}

// children returns the names of the cgroups directly in dir.
func children(dir int) ([]string, error) {
	if _, err := unix.Seek(dir, 0, unix.SEEK_SET); err != nil {
		return nil, err
	}
	var names []string
	buffer := make([]byte, 8192)
	for {
		n, err := unix.ReadDirent(dir, buffer)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return names, err
		}
		if n == 0 {
			return names, nil
		}
		names = appendDirectories(names, buffer[:n])
	}
}

// appendDirectories appends the directories among the entries of getdents64(2).
// kernfs always fills in d_type.
func appendDirectories(names []string, entries []byte) []string {
	const fixed = 19 // d_ino, d_off, d_reclen, d_type
	for len(entries) > fixed {
		length := int(binary.NativeEndian.Uint16(entries[16:]))
		if entries[18] == unix.DT_DIR {
			name := unix.ByteSliceToString(entries[fixed:length])
			if name != "." && name != ".." {
				names = append(names, name)
			}
		}
		entries = entries[length:]
	}
	return names
}

func lastName(path string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '/' {
			return path[i+1:]
		}
	}
	return path
}
