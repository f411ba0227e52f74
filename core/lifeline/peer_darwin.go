package lifeline

import "golang.org/x/sys/unix"

// PeerPID returns the pid of the process at the other end of a unix socket
// (LOCAL_PEERPID of <sys/un.h>).
func PeerPID(fd int) (int, error) {
	return unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID)
}
