package lifeline

import "golang.org/x/sys/unix"

// PeerPID returns the pid of the process at the other end of a unix socket: the
// one that created a socket pair, connected, or listened (SO_PEERCRED, unix(7)).
func PeerPID(fd int) (int, error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, err
	}
	return int(cred.Pid), nil
}
