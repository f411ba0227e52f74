// Package reportfile writes the report of a session where the person wants it.
package reportfile

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// A Target is where a report will go. What can be found out before the session is
// found out by [Open], so that no command runs in vain, and the directory is held
// open meanwhile: the command of the session may be able to rename things.
type Target struct {
	path string
	out  io.Writer // of a stream or a device
	file *os.File  // a device, to be closed
	dir  *os.Root  // of a regular file
	base string
}

// Open prepares a target. The path "-" means out. Anything that exists and is no
// regular file (a device, a pipe) is written as it is; a regular file is replaced
// by a new one of mode 0600 when the report is whole.
func Open(path string, out io.Writer) (*Target, error) {
	t := &Target{path: path}
	if path == "-" {
		t.out = out
		return t, nil
	}
	if err := t.open(); err != nil {
		return nil, fmt.Errorf("the report cannot be written to %q: %w", path, cause(err))
	}
	return t, nil
}

func (t *Target) open() (err error) {
	// The file behind a link is replaced, not the link.
	path := t.path
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		path = resolved
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case info.IsDir():
		return errors.New("it is a directory")
	case !info.Mode().IsRegular():
		t.file, err = os.OpenFile(path, os.O_WRONLY, 0)
		t.out = t.file
		return err
	}
	if t.dir, err = os.OpenRoot(filepath.Dir(path)); err != nil {
		return err
	}
	t.base = filepath.Base(path)
	file, name, err := t.temporary()
	if err != nil {
		t.dir.Close()
		return err
	}
	file.Close()
	return t.dir.Remove(name)
}

func (t *Target) temporary() (*os.File, string, error) {
	name := ".pinfold-report-" + rand.Text()
	file, err := t.dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	return file, name, err
}

// Write writes the report as indented JSON. The file appears whole or not at all.
func (t *Target) Write(report any) error {
	text, err := json.MarshalIndent(report, "", "  ")
	if err == nil {
		err = t.put(append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("the report cannot be written to %q: %w", t.path, cause(err))
	}
	return nil
}

func (t *Target) put(text []byte) error {
	if t.out != nil {
		_, err := t.out.Write(text)
		return err
	}
	file, name, err := t.temporary()
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Close()); err == nil {
		err = t.dir.Rename(name, t.base)
	}
	if err != nil {
		t.dir.Remove(name)
	}
	return err
}

// Close releases what Open holds. It may be called on a nil Target.
func (t *Target) Close() {
	if t == nil {
		return
	}
	if t.file != nil {
		t.file.Close()
	}
	if t.dir != nil {
		t.dir.Close()
	}
}

// cause leaves out the operation and the temporary name, which say nothing to a
// person.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
