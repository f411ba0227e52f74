package host

import (
	"os"

	"golang.org/x/sys/unix"
)

// pollable returns the same open file as one that the runtime polls, and closes
// f. Package pty leaves a terminal in blocking mode, in which a read would hold
// a thread and could not be ended by closing the file.
func pollable(f *os.File) (*os.File, error) {
	defer f.Close()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}
