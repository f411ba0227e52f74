//go:build linux && (amd64 || arm64)

package birth

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
)

// until runs what disturbs the births in goroutines of its own until the test's
// births are done.
func until(t *testing.T, disturbances ...func()) {
	var done atomic.Bool
	var running sync.WaitGroup
	for _, disturb := range disturbances {
		running.Go(func() {
			for !done.Load() {
				disturb()
				runtime.Gosched()
			}
		})
	}
	t.Cleanup(func() { done.Store(true); running.Wait() })
}

var garbage [][]byte

// disturbances are garbage collections, signals to this process and to its
// threads, stack growth, the births of package os, and descriptors that come
// and go, with and without close-on-exec.
func disturbances(t *testing.T) []func() {
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGUSR1, syscall.SIGWINCH)
	t.Cleanup(func() { signal.Stop(caught) })
	return []func(){
		func() {
			garbage = append(garbage[:0], make([]byte, 1<<20))
			runtime.GC()
		},
		func() {
			unix.Kill(os.Getpid(), unix.SIGUSR1)
			unix.Kill(os.Getpid(), unix.SIGWINCH)
			unix.Kill(os.Getpid(), unix.SIGURG)
		},
		func() { deep(1000) },
		func() {
			if err := exec.Command("/bin/true").Run(); err != nil {
				t.Errorf("os/exec: %v", err)
			}
		},
		func() {
			for _, flags := range []int{0, unix.O_CLOEXEC} {
				if fd, err := unix.Open("/dev/zero", unix.O_RDONLY|flags, 0); err == nil {
					unix.Close(fd)
				}
			}
		},
	}
}

func deep(n int) int {
	var frame [128]byte
	if n > 0 {
		return deep(n-1) + int(frame[n%128])
	}
	return 0
}

// TestStress starts commands from many goroutines while everything happens that
// a Go program can do to its threads, memory and descriptors. Each command checks
// its arguments and descriptors; every third launch fails and must say how.
func TestStress(t *testing.T) {
	const goroutines, births = 12, 60
	stress(t, goroutines, births, func(b *core.Birth) {})
}

// TestStressWithLandlockAndSeccomp is the same with what a confined command has.
func TestStressWithLandlockAndSeccomp(t *testing.T) {
	needLandlock(t)
	ruleset := rulesetWriting(t, "/dev")
	stress(t, 8, 40, func(b *core.Birth) {
		*b = *filtered(answer(refuseWith|uint32(unix.EXDEV), unix.SYS_MKDIRAT))
		b.Landlock = []core.LandlockRuleset{{File: ruleset}}
		b.Limits = []core.ResourceLimit{{Resource: core.ResourceCore}}
	})
}

func stress(t *testing.T, goroutines, births int, prepare func(*core.Birth)) {
	runtime.GC()
	before := openFiles(t)
	t.Run("births", func(t *testing.T) {
		until(t, disturbances(t)...)
		var running sync.WaitGroup
		for range goroutines {
			running.Go(func() {
				for i := range births {
					b := &core.Birth{}
					prepare(b)
					if i%3 == 2 {
						failedBirth(t, b)
					} else {
						checkedBirth(t, b)
					}
				}
			})
		}
		running.Wait()
	})
	if len(zombies()) > 0 {
		t.Error("children are left")
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func failedBirth(t *testing.T, b *core.Birth) {
	_, err := Start(&Command{Path: "/nonexistent", Args: []string{"x"}}, b)
	var e *Error
	if !errors.As(err, &e) || e.Step != StepExec || e.Errno != unix.ENOENT {
		t.Errorf("%v", err)
	}
}

// checkedBirth starts a shell that finds its argument, and descriptors 0 to 3
// alone: 0 is of the glob itself.
func checkedBirth(t *testing.T, b *core.Birth) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Error(err)
		return
	}
	defer r.Close()
	argument := strings.Repeat("x", 3000)
	process, err := Start(&Command{
		Path: "/bin/sh", Args: []string{"sh", "-c", `echo /proc/$$/fd/* $1`, "sh", argument},
		Env: []string{"A=" + argument}, Files: []*os.File{nil, w, os.Stderr, w},
	}, b)
	w.Close()
	if err != nil {
		t.Error(err)
		return
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Error(err)
	}
	state, err := process.Wait()
	if err != nil || !state.Success() {
		t.Errorf("%v, %v", state, err)
	}
	fields := strings.Fields(string(out))
	for i, f := range fields {
		fields[i] = f[strings.LastIndex(f, "/")+1:]
	}
	if got := strings.Join(fields, " "); got != "0 1 2 3 "+argument {
		t.Errorf("descriptors and argument %.40q, %d bytes", got, len(got))
	}
}

// TestLargeHost starts commands from a process that has touched much memory. A
// copy of its page tables would be seen in the benchmark; here it must work.
func TestLargeHost(t *testing.T) {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		t.Fatal(err)
	}
	size := min(uint64(2<<30), uint64(info.Freeram)*uint64(info.Unit)/4)
	mapped := touch(t, int(size))
	for range 20 {
		checkedBirth(t, &core.Birth{NoNewPrivileges: true})
		failedBirth(t, &core.Birth{})
	}
	t.Logf("%d MiB touched", len(mapped)>>20)
}

func touch(tb testing.TB, size int) []byte {
	tb.Helper()
	mapped, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_POPULATE)
	if err != nil {
		tb.Skipf("needs %d MiB of memory: %v", size>>20, err)
	}
	tb.Cleanup(func() { unix.Munmap(mapped) })
	return mapped
}
