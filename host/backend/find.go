package backend

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/pinfold/pinfold/core"
)

// PathEnvKey is the environment variable that lists directories with installed
// backends, in the form of PATH. The backend called NAME is the file
// pinfold-NAME.
const PathEnvKey = "PINFOLD_BACKENDS"

// embedder is the program that serves the standard backends when it is called
// with the arguments "backend NAME".
const embedder = "pinfold"

// A Program is how to start a backend.
type Program struct {
	// Name is what the caller asked for.
	Name string
	// Path is the absolute path of the executable.
	Path string
	// Args follow the program's own name.
	Args []string
}

func (p Program) String() string {
	return strings.Join(append([]string{p.Path}, p.Args...), " ")
}

// Embedded returns the program that serves the standard backend name from the
// pinfold executable at path.
func Embedded(path, name string) Program {
	return Program{Name: name, Path: path, Args: []string{"backend", name}}
}

// Find looks for the backend called name. A name with a slash in it is a path.
// Otherwise it is looked for in the directories of $PINFOLD_BACKENDS, and then
// among the backends embedded in a pinfold beside the running program or on the
// PATH. A file that another user could replace is refused.
//
// The error is of reason ErrNotFound and says where it was looked for.
func Find(name string) (Program, error) {
	if strings.ContainsRune(name, filepath.Separator) {
		path, err := filepath.Abs(name)
		if err != nil {
			return Program{}, notFound(name, nil, err)
		}
		return Program{Name: filepath.Base(name), Path: path}, check(name, path)
	}
	if name == "" || strings.ContainsAny(name, "\x00") {
		return Program{}, notFound(name, nil, errors.New("that is no name of a backend"))
	}
	var looked []string
	for _, candidate := range candidates(name) {
		err := check(name, candidate.Path)
		if errors.Is(err, fs.ErrNotExist) {
			looked = append(looked, candidate.Path)
			continue
		}
		return candidate, err
	}
	if path, err := exec.LookPath(embedder); err == nil {
		if path, err = filepath.Abs(path); err == nil {
			return Embedded(path, name), check(name, path)
		}
	}
	return Program{}, notFound(name, append(looked, embedder+" on the PATH"), nil)
}

func candidates(name string) []Program {
	var list []Program
	for _, dir := range filepath.SplitList(os.Getenv(PathEnvKey)) {
		if filepath.IsAbs(dir) {
			list = append(list, Program{Name: name, Path: filepath.Join(dir, "pinfold-"+name)})
		}
	}
	if self, err := os.Executable(); err == nil {
		list = append(list, Embedded(filepath.Join(filepath.Dir(self), embedder), name))
	}
	return list
}

func notFound(name string, looked []string, err error) error {
	e := &core.Error{
		Reason: core.ErrNotFound,
		Stage:  core.StageBackend,
		Detail: fmt.Sprintf("no backend %q", name),
		Remedy: "install it into a directory of $" + PathEnvKey + ", or give its path",
		Err:    err,
	}
	if len(looked) > 0 {
		e.Detail += ", looked for " + strings.Join(looked, ", ")
	}
	return e
}

// check refuses a file that is no program, or that others could have written: a
// backend decides what confinement means.
func check(name, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		e := notFound(name, nil, err).(*core.Error)
		e.Path = path
		return e
	}
	refuse := func(why, remedy string) error {
		return &core.Error{
			Reason: core.ErrNotPermitted, Stage: core.StageBackend, Path: path,
			Detail: fmt.Sprintf("the backend %q is not used: %s", name, why), Remedy: remedy,
		}
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
		return refuse("it is not an executable file", "give the path of the backend's program")
	}
	if info.Mode().Perm()&0o002 != 0 {
		return refuse("every user may write to the file", "chmod o-w")
	}
	if !ownedSafely(info) {
		return refuse("it belongs to another user", "install it as root or as yourself")
	}
	dir, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return refuse(err.Error(), "")
	}
	if dir.Mode().Perm()&0o002 != 0 && dir.Mode()&fs.ModeSticky == 0 {
		return refuse("every user may replace files in its directory", "chmod o-w the directory")
	}
	return nil
}

// IsEmbedded reports whether the program serves the backend from a pinfold
// executable.
func (p Program) IsEmbedded() bool { return len(p.Args) == 2 && p.Args[0] == "backend" }
