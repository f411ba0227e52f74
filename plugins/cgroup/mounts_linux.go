package cgroup

import (
	"io"
	"sync"

	"golang.org/x/sys/unix"
)

// mountTable has the mounts of this process.
var mountTable mountCache

// A mountCache reads the mounts again only when the kernel says that they
// changed: poll(2) of an open /proc/self/mountinfo reports POLLPRI once after a
// change (proc_pid_mountinfo(5)).
type mountCache struct {
	mu     sync.Mutex
	fd     int // of /proc/self/mountinfo while mounts is not nil
	mounts []mount
}

// read returns the mounts as they are now. The caller does not change them.
func (m *mountCache) read() ([]mount, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mounts != nil {
		if !pollPri(m.fd) {
			return m.mounts, nil
		}
		unix.Close(m.fd)
		m.mounts = nil
	}
	const name = "/proc/self/mountinfo"
	// Not an os.File to keep: the runtime's own poll would use up the events.
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	text, err := io.ReadAll(rawReader(fd))
	if err != nil {
		unix.Close(fd)
		return nil, pathError("read", name, err)
	}
	m.fd, m.mounts = fd, parseMountinfo(text)
	return m.mounts, nil
}

// pollPri reports whether there was a change. If it cannot tell, there was.
func pollPri(fd int) bool {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLPRI}}
	_, err := unix.Poll(fds, 0)
	return err != nil || fds[0].Revents != 0
}

// A rawReader reads a descriptor.
type rawReader int

func (r rawReader) Read(p []byte) (int, error) {
	for {
		n, err := unix.Read(int(r), p)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		}
		return n, nil
	}
}
