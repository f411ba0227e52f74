//go:build unix

package job

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// terminal is the controlling terminal, if there is one.
type terminal struct{ file *os.File }

// openTerminal opens the controlling terminal by the name that stands for it
// (tty(4)), whatever the standard streams are.
func openTerminal() terminal {
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return terminal{}
	}
	return terminal{os.NewFile(uintptr(fd), "/dev/tty")}
}

func (t terminal) close() {
	if t.file != nil {
		t.file.Close()
	}
}

// foreground returns the process group in the foreground, or 0 without a
// terminal.
func (t terminal) foreground() int {
	if t.file == nil {
		return 0
	}
	group, err := unix.IoctlGetInt(int(t.file.Fd()), unix.TIOCGPGRP)
	if err != nil {
		return 0
	}
	return group
}

// give puts a process group into the foreground. From the background that would
// stop the caller, so the signal for it is ignored meanwhile (tcsetpgrp(3)).
func (t terminal) give(group int) {
	if t.file == nil {
		return
	}
	signal.Ignore(syscall.SIGTTOU)
	defer signal.Reset(syscall.SIGTTOU)
	unix.IoctlSetPointerInt(int(t.file.Fd()), unix.TIOCSPGRP, group)
}

// reclaim puts pinfold's own group into the foreground if the group there is the
// command's or has no process any more. Any other group has been put there by the
// shell, and stays.
func (t terminal) reclaim(command int) {
	group := t.foreground()
	if group == 0 || group == syscall.Getpgrp() {
		return
	}
	if group == command || syscall.Kill(-group, 0) == syscall.ESRCH {
		t.give(syscall.Getpgrp())
	}
}
