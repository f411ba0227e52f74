package owner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/pinfold/pinfold/core/owner/procstat"
)

// bootID returns the kernel's random name of this boot (random(4)).
var bootID = sync.OnceValues(func() (string, error) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	id := strings.TrimSpace(string(text))
	if err == nil && id == "" {
		err = errors.New("/proc/sys/kernel/random/boot_id is empty")
	}
	return id, err
})

func startTime(pid int) (uint64, error) {
	if pid <= 0 {
		return 0, notFound(pid, nil)
	}
	stat, err := procstat.Read(pid)
	switch {
	case err == nil && stat.Gone():
		return 0, notFound(pid, errors.New("it has ended and waits to be reaped"))
	case err == nil:
		return stat.Start, nil
	case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ESRCH):
		return 0, err
	}
	// /proc may be missing, or hide the process (mount option hidepid). The
	// signal 0 asks the kernel itself.
	if syscall.Kill(pid, 0) == syscall.ESRCH {
		return 0, notFound(pid, err)
	}
	return 0, fmt.Errorf("it exists, but /proc does not show it (is /proc mounted with hidepid?): %w", err)
}
