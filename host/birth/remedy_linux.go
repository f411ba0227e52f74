//go:build amd64 || arm64

package birth

import (
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// cloneStep says what an error of clone3 was about, by the errors that clone(2)
// gives to each of its parts.
func cloneStep(flags uint64, errno syscall.Errno) string {
	into, user, pid := flags&unix.CLONE_INTO_CGROUP != 0, flags&unix.CLONE_NEWUSER != 0, flags&unix.CLONE_NEWPID != 0
	switch errno {
	case unix.EBADF, unix.EACCES, unix.EBUSY, unix.EOPNOTSUPP, unix.ENODEV, unix.ENOENT:
		if into {
			return "cgroup"
		}
	case unix.EPERM, unix.ENOSPC, unix.EUSERS, unix.EINVAL:
		if user {
			return "user namespace"
		}
		if pid {
			return "pid namespace"
		}
	}
	return "clone"
}

// remedies say what a person can do about an error of a step, by its name or the
// first word of it. What they say of causes is in the manual pages of the calls.
var remedies = map[string]map[syscall.Errno]string{
	"clone": {
		unix.EAGAIN: "a limit on processes is reached: RLIMIT_NPROC, kernel.pid_max, or pids.max of the cgroup",
		unix.ENOSYS: "clone3 needs Linux 5.3, and a container's seccomp filter may refuse it",
		unix.E2BIG:  "Linux 5.9 is needed",
		unix.EINVAL: "Linux 5.9 is needed",
	},
	"cgroup": {
		unix.EACCES:     "the cgroup, and the common ancestor with the caller's, must be writable for the caller",
		unix.EBADF:      "it must be a directory of the cgroup v2 filesystem",
		unix.EBUSY:      "processes cannot enter a cgroup that has controllers enabled for its children",
		unix.EOPNOTSUPP: "the cgroup is in the domain invalid state",
		unix.ENODEV:     "the cgroup was removed",
		unix.ENOENT:     "the cgroup was removed",
	},
	"user namespace": {
		unix.EPERM:  "user namespaces are forbidden here: see kernel.unprivileged_userns_clone and kernel.apparmor_restrict_unprivileged_userns",
		unix.EACCES: "the calling program must be dumpable (PR_SET_DUMPABLE), and /proc mounted",
		unix.ENOENT: "/proc must be mounted",
		unix.ENOSPC: "the limit user.max_user_namespaces, or the nesting limit, is reached",
		unix.EINVAL: "the kernel was built without user or PID namespaces",
	},
	"pid namespace":     namespaceRemedies,
	"ipc namespace":     namespaceRemedies,
	"network namespace": namespaceRemedies,
	"mount namespace":   namespaceRemedies,
	"mount":             mountRemedies,
	"controlling terminal": {
		unix.EPERM:  "the terminal already controls another session",
		unix.ENOTTY: "it is not a terminal",
	},
	"foreground":    {unix.ENOTTY: "it must be the controlling terminal of the caller"},
	"process group": {unix.EPERM: "the process group must exist in the caller's session"},
	"limit":         {unix.EPERM: "only a privileged process raises a hard limit"},
	"capabilities": {
		unix.EPERM: "without no_new_privs it needs CAP_SETPCAP, to change the bounding set",
	},
	"landlock": {
		unix.EPERM:      "it needs no_new_privs",
		unix.ENOSYS:     "Landlock needs Linux 5.13, built with CONFIG_SECURITY_LANDLOCK",
		unix.EOPNOTSUPP: "Landlock is not among the security modules enabled at boot: add it to lsm=",
		unix.EBADF:      "it is not the descriptor of a Landlock ruleset",
		unix.EBADFD:     "it is not the descriptor of a Landlock ruleset",
		unix.EINVAL:     "this kernel does not know the flags",
		unix.E2BIG:      "16 Landlock layers is the most that the kernel stacks",
	},
	"descriptor": {
		unix.EINVAL: "the number is above the limit on open files (RLIMIT_NOFILE) of the caller",
		unix.EMFILE: "the limit on open files (RLIMIT_NOFILE) of the caller is reached",
		unix.EBADF:  "the file was closed, or the number is above the limit on open files (RLIMIT_NOFILE) of the caller",
	},
	"descriptors": {unix.ENOSYS: "close_range needs Linux 5.9"},
	"seccomp": {
		unix.EACCES: "it needs no_new_privs",
		unix.EINVAL: "the kernel was built without seccomp filters, or its checker refuses the program",
		unix.ENOMEM: "the filters of a process are limited to 32768 instructions together",
	},
}

var namespaceRemedies = map[syscall.Errno]string{
	unix.EPERM:  "it needs CAP_SYS_ADMIN, or a user namespace of its own",
	unix.ENOSPC: "a limit on namespaces (user.max_*_namespaces) is reached",
	unix.EINVAL: "the kernel was built without this kind of namespace",
}

var mountRemedies = map[syscall.Errno]string{
	unix.EPERM:  "it needs CAP_SYS_ADMIN, or a user namespace of its own",
	unix.ENOSPC: "a limit on mounts or namespaces is reached",
	unix.ELOOP:  "a component of the path is a symbolic link, and none is followed",
	unix.EINVAL: "directories are mounted on directories, and files on files",
	unix.ENOENT: "the path must exist",
	unix.ENOSYS: "read-only binds need Linux 5.12, other mounts 5.6",
}

func remedy(p *Program, e *Error) string {
	if e.Step == StepExec {
		return execRemedy(p, e)
	}
	if known, ok := remedies[e.Step]; ok {
		return known[e.Errno]
	}
	kind, _, _ := strings.Cut(e.Step, " ")
	return remedies[kind][e.Errno]
}

// execRemedy tells apart what the kernel reports by one errno.
func execRemedy(p *Program, e *Error) string {
	switch e.Errno {
	case unix.ENOENT:
		path := p.command.Path
		if !strings.HasPrefix(path, "/") && p.command.Dir != "" {
			path = p.command.Dir + "/" + path
		}
		if _, err := os.Stat(path); err == nil {
			return "the file exists: its interpreter or dynamic loader does not"
		}
	case unix.EACCES:
		if len(p.birth.Landlock) > 0 {
			return "the file is not executable, or a Landlock ruleset grants no execution of it or of its interpreter"
		}
		return "it must be an executable regular file on a filesystem not mounted noexec"
	case unix.ENOEXEC:
		return "it is neither a program for this machine nor a script with an interpreter line"
	case unix.ETXTBSY:
		return "somebody has the file open for writing"
	case unix.E2BIG:
		return "arguments and environment are too long"
	case unix.EPERM, unix.ENOSYS:
		if len(p.birth.Seccomp) > 0 {
			return "a seccomp filter may forbid it: it must let execve through"
		}
	}
	return ""
}
