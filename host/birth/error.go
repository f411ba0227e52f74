package birth

import (
	"fmt"
	"strings"
	"syscall"
)

// Names of steps that programs branch on. [Error.Step] lists them all.
const (
	// StepCommand is not a step: the Command or the Birth itself was refused,
	// before anything was done.
	StepCommand = "command"
	// StepDirectory is the change to the working directory.
	StepDirectory = "chdir"
	// StepExec is execve, the last step. ENOENT says that the command or its
	// interpreter does not exist; EACCES, ENOEXEC and others that the system
	// does not execute it.
	StepExec = "exec"
)

// An Error says which step of a birth failed, and how. Nothing is left of the
// command then, and it never ran.
type Error struct {
	// Step is a stable name: "command", "clone", "cgroup", "user namespace",
	// "pid namespace", "session", "controlling terminal", "process group",
	// "foreground", "descriptor N", "mount namespace", "ipc namespace",
	// "network namespace", "mount PATH", "limit RLIMIT_NAME", "chdir",
	// "no_new_privs", "landlock", "descriptors", "signals", "seccomp",
	// "exec", or "wait" for a command that ran but cannot be waited for.
	Step string
	// Index is the place of the failed call in the birth program (0 is
	// clone3), or -1.
	Index int
	// Call is the system call that failed, empty if none did.
	Call string
	// Path is the path that the step is about, if there is one.
	Path string
	// Errno is the kernel's answer, 0 if there is none.
	Errno syscall.Errno
	// Signal is the signal that ended the child in the step, 0 if none did.
	// With an Errno it is how a child ended to which a seccomp filter denied
	// exit_group.
	Signal syscall.Signal
	// Detail says what was wrong where no errno does.
	Detail string
	// Remedy says what the person can do, empty if nothing is known.
	Remedy string
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Step)
	if e.Call != "" {
		fmt.Fprintf(&b, ": %s", e.Call)
	}
	if e.Path != "" && !strings.HasSuffix(e.Step, e.Path) {
		fmt.Fprintf(&b, " %q", e.Path)
	}
	switch {
	case e.Detail != "":
		fmt.Fprintf(&b, ": %s", e.Detail)
	case e.Errno != 0:
		fmt.Fprintf(&b, ": %v", e.Errno)
	case e.Signal != 0:
		fmt.Fprintf(&b, ": the starting process was killed by signal %d (%v)", int(e.Signal), e.Signal)
	}
	if e.Remedy != "" {
		fmt.Fprintf(&b, " (%s)", e.Remedy)
	}
	return b.String()
}

// Unwrap returns the errno, so that errors.Is knows fs.ErrNotExist and the
// like, or nil if there is none.
func (e *Error) Unwrap() error {
	if e.Errno == 0 {
		return nil
	}
	return e.Errno
}
