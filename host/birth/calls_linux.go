//go:build amd64 || arm64

package birth

import "golang.org/x/sys/unix"

// A call is a system call's name and its number on this architecture.
type call struct {
	name   string
	number uintptr
}

var (
	sysCapset       = call{"capset", unix.SYS_CAPSET}
	sysChdir        = call{"chdir", unix.SYS_CHDIR}
	sysCloseRange   = call{"close_range", unix.SYS_CLOSE_RANGE}
	sysDup3         = call{"dup3", unix.SYS_DUP3}
	sysExecve       = call{"execve", unix.SYS_EXECVE}
	sysFchdir       = call{"fchdir", unix.SYS_FCHDIR}
	sysFcntl        = call{"fcntl", unix.SYS_FCNTL}
	sysFsconfig     = call{"fsconfig", unix.SYS_FSCONFIG}
	sysFsmount      = call{"fsmount", unix.SYS_FSMOUNT}
	sysFsopen       = call{"fsopen", unix.SYS_FSOPEN}
	sysGetpid       = call{"getpid", unix.SYS_GETPID}
	sysIoctl        = call{"ioctl", unix.SYS_IOCTL}
	sysLandlock     = call{"landlock_restrict_self", unix.SYS_LANDLOCK_RESTRICT_SELF}
	sysMkdirat      = call{"mkdirat", unix.SYS_MKDIRAT}
	sysMknodat      = call{"mknodat", unix.SYS_MKNODAT}
	sysMount        = call{"mount", unix.SYS_MOUNT}
	sysMountSetattr = call{"mount_setattr", unix.SYS_MOUNT_SETATTR}
	sysMoveMount    = call{"move_mount", unix.SYS_MOVE_MOUNT}
	sysOpenTree     = call{"open_tree", unix.SYS_OPEN_TREE}
	sysOpenat       = call{"openat", unix.SYS_OPENAT}
	sysOpenat2      = call{"openat2", unix.SYS_OPENAT2}
	sysPrctl        = call{"prctl", unix.SYS_PRCTL}
	sysPrlimit      = call{"prlimit64", unix.SYS_PRLIMIT64}
	sysSeccomp      = call{"seccomp", unix.SYS_SECCOMP}
	sysSetpgid      = call{"setpgid", unix.SYS_SETPGID}
	sysSetsid       = call{"setsid", unix.SYS_SETSID}
	sysSigprocmask  = call{"rt_sigprocmask", unix.SYS_RT_SIGPROCMASK}
	sysUmount       = call{"umount2", unix.SYS_UMOUNT2}
	sysUnshare      = call{"unshare", unix.SYS_UNSHARE}
	sysWrite        = call{"write", unix.SYS_WRITE}
)
