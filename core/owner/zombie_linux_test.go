package owner_test

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"github.com/pinfold/pinfold/core/owner"
	"github.com/pinfold/pinfold/core/owner/procstat"
)

// waitForZombie returns when the child has ended, without reaping it.
func waitForZombie(t *testing.T, pid int) {
	t.Helper()
	const pPID, wExited, wNoWait = 1, 4, 0x1000000 // waitid(2)
	var info [128]byte
	_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, pPID, uintptr(pid), uintptr(unsafe.Pointer(&info)), wExited|wNoWait, 0, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
}

const leaderless = "PINFOLD_TEST_LEADERLESS"

func init() {
	if os.Getenv(leaderless) != "" {
		runtime.LockOSThread() // so that main runs on the first thread
	}
}

func TestMain(m *testing.M) {
	if os.Getenv(leaderless) != "" {
		go func() {
			os.Stdin.Read(make([]byte, 1))
			os.Exit(0)
		}()
		syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0) // ends this thread alone
	}
	os.Exit(m.Run())
}

// A process whose first thread has ended looks like a zombie in /proc and is
// very much alive.
func TestProcessWithoutFirstThreadIsAlive(t *testing.T) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), leaderless+"=1", "GORACE=atexit_sleep_ms=0")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	child, err := owner.Of(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	for stateOf(t, cmd.Process.Pid) != 'Z' {
		runtime.Gosched()
	}
	wantAlive(t, child, true)
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	wantAlive(t, child, false)
}

func stateOf(t *testing.T, pid int) byte {
	t.Helper()
	stat, err := procstat.Read(pid)
	if err != nil {
		t.Fatal(err)
	}
	return stat.State
}
