package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/host"
	"github.com/pinfold/pinfold/host/birth"
)

// startDir is the directory that a command starts in: the current one if it is
// part of the workspace, else the workspace.
func startDir(workspace string) string {
	dir, err := os.Getwd()
	if err != nil {
		return workspace
	}
	resolved, err := filepath.EvalSymlinks(dir)
	if err == nil && (resolved == workspace || strings.HasPrefix(resolved, workspace+string(filepath.Separator))) {
		return dir
	}
	return workspace
}

// unstarted returns the exit status for a command that did not start, and says
// why in the words of the command line.
func unstarted(cmd *host.Cmd, policy *core.Policy, err error) (int, error) {
	var failure *core.Error
	var step *birth.Error
	if !errors.As(err, &failure) || failure.Stage != core.StageExec ||
		errors.As(err, &step) && step.Step == birth.StepDirectory {
		return statusFailed, err
	}
	name := cmd.Args[0]
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return statusNotFound, fmt.Errorf("%q: command not found", name)
	case errors.Is(err, fs.ErrNotExist):
		return statusNotFound, fmt.Errorf("%q cannot be executed: %w", name, cause(err))
	case errors.Is(err, fs.ErrPermission) && policy.Filesystem.Confined && executable(cmd.Path, cmd.Dir):
		return statusNotExecutable, fmt.Errorf("%q cannot be executed: the policy grants no execution of it "+
			"or of its interpreter (--exec %s would)", name, shellWord(program0(cmd)))
	}
	return statusNotExecutable, fmt.Errorf("%q cannot be executed: %w", name, cause(err))
}

// cause leaves out the words of the layers above the system's own answer.
func cause(err error) error {
	var step *birth.Error
	if errors.As(err, &step) && step.Errno != 0 {
		if step.Remedy != "" {
			return fmt.Errorf("%w (%s)", step.Errno, step.Remedy)
		}
		return step.Errno
	}
	var look *exec.Error
	if errors.As(err, &look) {
		return look.Err
	}
	return err
}

func program0(cmd *host.Cmd) string {
	if filepath.IsAbs(cmd.Path) {
		return cmd.Path
	}
	return filepath.Join(cmd.Dir, cmd.Path)
}

// executable reports whether a file is one that could be executed without a
// policy.
func executable(path, dir string) bool {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// shellWord quotes a path so that it can be pasted into a shell.
func shellWord(s string) string {
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:@%,=") == "" {
		return s
	}
	if quoted := printable(s); quoted != s {
		return "$'" + strings.ReplaceAll(quoted, "'", `\'`) + "'"
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
