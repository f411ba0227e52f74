package host

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// lookPath finds a program in the PATH of an environment, as a shell would, but
// that entries which are empty or relative are passed over: they would make the
// working directory choose what runs.
//
// It looks with the host's rights. Whether the command may execute what was
// found is the policy's matter, and the kernel's.
func lookPath(name string, env []string) (string, error) {
	if strings.ContainsRune(name, filepath.Separator) {
		return name, nil
	}
	found := error(exec.ErrNotFound)
	if name == "" {
		env = nil
	}
	for _, dir := range filepath.SplitList(variable(env, "PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		switch {
		case err != nil || info.IsDir():
		case info.Mode().Perm()&0o111 == 0:
			found = fs.ErrPermission
		default:
			return path, nil
		}
	}
	return "", &exec.Error{Name: name, Err: found}
}

func variable(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(env[i], name+"="); ok {
			return value
		}
	}
	return ""
}
