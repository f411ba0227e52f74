package seccomp

import (
	"runtime"
	"slices"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A filteredThread makes calls on a thread of its own, under a filter or none.
type filteredThread struct {
	calls   chan func()
	took    chan time.Duration
	samples []time.Duration
}

// newFilteredThread starts the thread; it ends when calls is closed.
func newFilteredThread(b *testing.B, o *Options) *filteredThread {
	b.Helper()
	th := &filteredThread{calls: make(chan func()), took: make(chan time.Duration)}
	ready := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread dies with the goroutine
		var err error
		if o != nil {
			err = install(*o, 0)
		}
		ready <- err
		for f := range th.calls {
			start := time.Now()
			f()
			th.took <- time.Since(start)
		}
	}()
	if err := <-ready; err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { close(th.calls) })
	return th
}

func (th *filteredThread) sample(f func()) {
	th.calls <- f
	th.samples = append(th.samples, <-th.took)
}

func (th *filteredThread) median() time.Duration {
	slices.Sort(th.samples)
	return th.samples[len(th.samples)/2]
}

// BenchmarkCall measures what the filter adds to a call, as medians of rounds in
// which threads with and without it take turns. The filter allows getppid and
// read by their number, so the kernel does not run it for them; of ioctl it
// reads an argument in every mode, of sendto in the tcp mode.
func BenchmarkCall(b *testing.B) {
	requireSeccomp(b)
	zero, err := unix.Open("/dev/zero", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer unix.Close(zero)
	var buffer [1]byte
	address := uintptr(unsafe.Pointer(&buffer[0]))
	for _, call := range []struct {
		name string
		make func()
	}{
		{"getppid", func() { unix.RawSyscall(unix.SYS_GETPPID, 0, 0, 0) }},
		{"read", func() { unix.RawSyscall(unix.SYS_READ, uintptr(zero), address, 1) }},
		{"ioctl", func() { unix.RawSyscall(unix.SYS_IOCTL, uintptr(zero), unix.TIOCGWINSZ, address) }},
		{"sendto", func() { unix.RawSyscall6(unix.SYS_SENDTO, uintptr(zero), address, 1, 0, 0, 0) }},
	} {
		b.Run(call.name, func(b *testing.B) {
			const calls = 2000
			round := func() {
				for range calls {
					call.make()
				}
			}
			bare := newFilteredThread(b, nil)
			off := newFilteredThread(b, &Options{})
			tcp := newFilteredThread(b, &Options{Network: NetworkTCP, CloseTruncate: true})
			for b.Loop() {
				for _, th := range []*filteredThread{bare, off, tcp} {
					th.sample(round)
				}
			}
			per := func(th *filteredThread) float64 { return float64(th.median().Nanoseconds()) / calls }
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(per(bare), "bare-ns")
			b.ReportMetric(per(off), "off-ns")
			b.ReportMetric(per(tcp), "tcp-ns")
			b.ReportMetric(per(off)/per(bare), "off/bare")
			b.ReportMetric(per(tcp)/per(bare), "tcp/bare")
		})
	}
	runtime.KeepAlive(&buffer)
}

// BenchmarkInstall measures what a launch pays: the system call that checks,
// translates and installs the program.
func BenchmarkInstall(b *testing.B) {
	requireSeccomp(b)
	for _, c := range []struct {
		name string
		o    Options
	}{
		{"nothing closed", Options{Network: NetworkUnfiltered, Unix: UnixOpen, Leave: groupEnd - 1}},
		{"off", Options{}},
		{"tcp", Options{Network: NetworkTCP, CloseTruncate: true}},
	} {
		b.Run(c.name, func(b *testing.B) {
			prog := sockProgram(mustCompile(b, c.o))
			var samples []time.Duration
			for b.Loop() {
				took := make(chan time.Duration)
				go func() {
					runtime.LockOSThread()
					start := time.Now()
					err := installProgram(prog, 0)
					if err != nil {
						b.Error(err)
					}
					took <- time.Since(start)
				}()
				samples = append(samples, <-took)
			}
			slices.Sort(samples)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(samples[len(samples)/2].Nanoseconds())/1000, "median-µs")
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	for _, o := range []Options{{Arch: AMD64}, {Arch: AMD64, Network: NetworkTCP, CloseTruncate: true}} {
		b.Run(o.Network.String(), func(b *testing.B) {
			b.ReportAllocs()
			var n int
			for b.Loop() {
				n = len(mustCompile(b, o).Program)
			}
			b.ReportMetric(float64(n), "instructions")
		})
	}
}
