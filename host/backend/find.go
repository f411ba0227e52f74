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
// PATH. A file that another user could replace is refused, not passed over.
//
// The path in the result has no symbolic link in it. The error is of reason
// ErrNotFound and says where the backend was looked for, or of reason
// ErrNotPermitted and says what is wrong with the file.
func Find(name string) (Program, error) {
	if strings.ContainsRune(name, filepath.Separator) {
		path, err := filepath.Abs(name)
		if err != nil {
			return Program{}, notFound(name, nil, err)
		}
		return settle(Program{Name: filepath.Base(name), Path: path})
	}
	if name == "" || strings.ContainsRune(name, 0) {
		return Program{}, notFound(name, nil, errors.New("that is no name of a backend"))
	}
	var looked []string
	for _, candidate := range candidates(name) {
		if !filepath.IsAbs(candidate.Path) {
			looked = append(looked, fmt.Sprintf("%s (not used, for it is relative)", candidate.Path))
			continue
		}
		found, err := settle(candidate)
		if errors.Is(err, fs.ErrNotExist) {
			looked = append(looked, candidate.Path)
			continue
		}
		return found, err
	}
	if path, err := exec.LookPath(embedder); err == nil {
		if path, err = filepath.Abs(path); err == nil {
			return settle(Embedded(path, name))
		}
	}
	return Program{}, notFound(name, append(looked, embedder+" on the PATH"), nil)
}

func candidates(name string) []Program {
	var list []Program
	for _, dir := range filepath.SplitList(os.Getenv(PathEnvKey)) {
		if dir != "" {
			list = append(list, Program{Name: name, Path: filepath.Join(dir, "pinfold-"+name)})
		}
	}
	if self, err := os.Executable(); err == nil {
		list = append(list, Embedded(filepath.Join(filepath.Dir(self), embedder), name))
	}
	return list
}

func notFound(name string, looked []string, err error) *core.Error {
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

// settle resolves the links in the program's path and refuses a file that is no
// program, or that others could write or replace: a backend decides what
// confinement means.
func settle(p Program) (Program, error) {
	path, err := filepath.EvalSymlinks(p.Path)
	if err != nil {
		e := notFound(p.Name, nil, err)
		e.Path = p.Path
		return Program{}, e
	}
	p.Path = path
	refuse := func(why, remedy string) (Program, error) {
		return Program{}, &core.Error{
			Reason: core.ErrNotPermitted, Stage: core.StageBackend, Path: path,
			Detail: fmt.Sprintf("the backend %q is not used: %s", p.Name, why), Remedy: remedy,
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		return refuse(err.Error(), "")
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
		return refuse("it is not an executable file", "give the path of the backend's program")
	}
	if !ownedSafely(info) {
		return refuse("it belongs to another user", "install it as root or as yourself")
	}
	if writableByOthers(info) {
		return refuse("other users may write to the file", "chmod go-w it")
	}
	dir, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return refuse(err.Error(), "")
	}
	if !ownedSafely(dir) {
		return refuse("its directory belongs to another user", "install it as root or as yourself")
	}
	// In a sticky directory only the owner of a file replaces it (inode(7)).
	if writableByOthers(dir) && dir.Mode()&fs.ModeSticky == 0 {
		return refuse("other users may replace files in its directory", "chmod go-w the directory")
	}
	return p, nil
}

// IsEmbedded reports whether the program serves the backend from a pinfold
// executable.
func (p Program) IsEmbedded() bool { return len(p.Args) == 2 && p.Args[0] == "backend" }
