package owner

import (
	"errors"
	"sync"

	"golang.org/x/sys/unix"
)

// bootID returns the kernel's random name of this boot.
var bootID = sync.OnceValues(func() (string, error) {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err == nil && id == "" {
		err = errors.New("kern.bootsessionuuid is empty")
	}
	return id, err
})

// zombie is SZOMB of <sys/proc.h>.
const zombie = 5

// startTime returns p_starttime in microseconds since the epoch.
func startTime(pid int) (uint64, error) {
	if pid <= 0 {
		return 0, notFound(pid, nil)
	}
	// The slice form tells an absent process (no entry, no error) from a failed
	// call; the single form answers EIO to both.
	entries, err := unix.SysctlKinfoProcSlice("kern.proc.pid", pid)
	if err != nil {
		return 0, err
	}
	for _, entry := range entries {
		if int(entry.Proc.P_pid) != pid {
			continue
		}
		if entry.Proc.P_stat == zombie {
			return 0, notFound(pid, errors.New("it has ended and waits to be reaped"))
		}
		start := entry.Proc.P_starttime
		return uint64(start.Sec)*1e6 + uint64(start.Usec), nil
	}
	return 0, notFound(pid, nil)
}
