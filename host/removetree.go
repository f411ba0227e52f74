package host

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/google/uuid"
)

// removeTree removes a directory and all that is in it, whatever the commands of
// a session made of it: directories without permissions, millions of files, paths
// longer than the system takes, symbolic links, which are removed and not
// followed. It uses a handful of descriptors at any depth, since other sessions
// need some too. It stops at the first error, or when ctx ends. A directory that
// does not exist is removed already.
func removeTree(ctx context.Context, dir string) error {
	if err := os.Remove(dir); err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	parent, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer parent.Close()
	name := filepath.Base(dir)
	top, err := openUsable(parent, name)
	if err != nil {
		return missingIsFine(err)
	}
	defer top.Close()
	r := &removal{ctx: ctx, top: top, prefix: uuid.NewString()}
	if err := r.empty(top, nil); err != nil {
		return err
	}
	return missingIsFine(parent.Remove(name))
}

// A removal is the removal of a tree from which each directory that is too deep
// is moved up to the top. Others may remove the same tree at the same time.
type removal struct {
	ctx    context.Context
	top    *os.Root
	prefix string // of the names of what was moved up; no command has seen it
	moved  int
}

const (
	// namesAtOnce is how many names of a directory are held in memory.
	namesAtOnce = 1024
	// maxDepth is how many directories are open at once.
	maxDepth = 16
)

// empty removes what is in a directory, to which the names of path lead from the
// top.
func (r *removal) empty(dir *os.Root, path []string) error {
	for {
		names, err := someNames(dir)
		if err != nil || len(names) == 0 {
			return err
		}
		for _, name := range names {
			if err := r.ctx.Err(); err != nil {
				return err
			}
			if err := r.remove(dir, path, name); err != nil {
				return err
			}
		}
	}
}

func (r *removal) remove(dir *os.Root, path []string, name string) error {
	err := dir.Remove(name)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if info, statErr := dir.Lstat(name); statErr != nil || !info.IsDir() {
		return missingIsFine(err)
	}
	// A directory that is not empty, or cannot be changed.
	sub, err := openUsable(dir, name)
	if err != nil {
		return missingIsFine(err)
	}
	defer sub.Close()
	path = append(path, name)
	if len(path) == maxDepth {
		r.moved++
		return missingIsFine(r.top.Rename(filepath.Join(path...), r.prefix+"-"+strconv.Itoa(r.moved)))
	}
	if err := r.empty(sub, path); err != nil {
		return err
	}
	return missingIsFine(dir.Remove(name))
}

// openUsable opens a directory after giving its owner all permissions on it. To
// move it takes those too.
func openUsable(dir *os.Root, name string) (*os.Root, error) {
	if err := dir.Chmod(name, 0o700); err != nil {
		return nil, err
	}
	return dir.OpenRoot(name)
}

func someNames(dir *os.Root) ([]string, error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, missingIsFine(err)
	}
	defer f.Close()
	names, err := f.Readdirnames(namesAtOnce)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return names, missingIsFine(err)
}

func missingIsFine(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
