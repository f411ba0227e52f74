//go:build !linux || !(amd64 || arm64)

package birth

import (
	"os"
	"syscall"

	"github.com/pinfold/pinfold/core"
)

// start has no birth program: a Birth that asks for anything is refused, and
// package os starts the command.
func start(c *Command, b *core.Birth) (*os.Process, error) {
	if what := asked(b); what != "" {
		return nil, refuse(syscall.ENOTSUP, "this system cannot give a process %s at birth: that takes Linux on amd64 or arm64", what)
	}
	attributes, err := processAttributes(c)
	if err != nil {
		return nil, err
	}
	env := c.Env
	if env == nil {
		env = []string{} // nil would be the caller's
	}
	process, err := os.StartProcess(c.Path, c.Args, &os.ProcAttr{Dir: c.Dir, Env: env, Files: c.Files, Sys: attributes})
	if err != nil {
		return nil, startError(c, err)
	}
	return process, nil
}

func asked(b *core.Birth) string {
	switch {
	case b.Cgroup != nil:
		return "a cgroup"
	case b.Namespaces != 0:
		return "namespaces"
	case len(b.Limits) > 0:
		return "resource limits"
	case b.DropCapabilities != 0:
		return "dropped capabilities"
	case b.NoNewPrivileges:
		return "no_new_privs"
	case len(b.Landlock) > 0:
		return "a Landlock ruleset"
	case len(b.Seccomp) > 0:
		return "a seccomp filter"
	}
	return ""
}

// startError names the step as far as package os lets it be told.
func startError(c *Command, err error) error {
	e := &Error{Step: StepExec, Index: -1, Path: c.Path, Detail: err.Error()}
	if pathError, ok := err.(*os.PathError); ok {
		e.Detail, e.Call, e.Path = "", pathError.Op, pathError.Path
		e.Errno, _ = pathError.Err.(syscall.Errno)
		if pathError.Op == "chdir" {
			e.Step = StepDirectory
		}
		if e.Errno == 0 {
			e.Detail = pathError.Err.Error()
		}
	}
	return e
}
