//go:build unix

package lifeline

import (
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// controlSize holds the ancillary data of two descriptors: one more than a
// message may carry, so that a peer which sends two is noticed.
var controlSize = unix.CmsgSpace(2 * 4)

// Pair returns the host's end of a new lifeline and the file to hand to the
// backend, both close-on-exec.
func Pair() (host *Conn, backend *os.File, err error) {
	// socketpair(2) has no close-on-exec flag on macOS, so no fork may come
	// between the call and CloseOnExec.
	syscall.ForkLock.RLock()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fds[0])
		unix.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, fmt.Errorf("lifeline: %w", os.NewSyscallError("socketpair", err))
	}
	backend = os.NewFile(uintptr(fds[1]), "lifeline")
	host, err = New(os.NewFile(uintptr(fds[0]), "lifeline"))
	if err != nil {
		backend.Close()
		return nil, nil, err
	}
	return host, backend, nil
}

// Inherited returns the backend's end, of which the environment tells the
// descriptor, and the pid of the process that made the pair: the host.
func Inherited() (*Conn, int, error) {
	fd, err := strconv.Atoi(os.Getenv(EnvKey))
	if err != nil || fd < 3 {
		return nil, 0, fmt.Errorf("lifeline: %s=%q names no descriptor", EnvKey, os.Getenv(EnvKey))
	}
	unix.CloseOnExec(fd)
	pid, err := PeerPID(fd)
	if err != nil {
		return nil, 0, fmt.Errorf("lifeline: descriptor %d: %w", fd, err)
	}
	conn, err := New(os.NewFile(uintptr(fd), "lifeline"))
	return conn, pid, err
}

func rights(fd int) []byte { return unix.UnixRights(fd) }

func received(control []byte) ([]*os.File, error) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return nil, fmt.Errorf("lifeline: %w", err)
	}
	var files []*os.File
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			return files, fmt.Errorf("lifeline: %w", err)
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			files = append(files, os.NewFile(uintptr(fd), "lifeline file"))
		}
	}
	return files, nil
}
