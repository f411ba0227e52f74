package owner_test

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// waitForZombie returns when the child has ended, without reaping it.
func waitForZombie(t *testing.T, pid int) {
	t.Helper()
	const zombie = 5 // SZOMB of <sys/proc.h>
	for {
		info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
		if err != nil {
			t.Fatal(err)
		}
		if info.Proc.P_stat == zombie {
			return
		}
		runtime.Gosched()
	}
}
