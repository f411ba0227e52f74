package seccomp

import (
	"runtime"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// onThread runs f on a thread that ends with it, under the filter if there is
// one.
func onThread(b *testing.B, o *Options, f func()) {
	b.Helper()
	failed := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread dies with the goroutine
		defer close(failed)
		if o != nil {
			if err := install(*o, 0); err != nil {
				failed <- err
				return
			}
		}
		f()
	}()
	if err := <-failed; err != nil {
		b.Fatal(err)
	}
}

// BenchmarkCall measures what the filter adds to a call. getppid is a call that
// the filter allows by its number; the kernel then does not run it. ioctl,
// sendto and socketpair are among those whose arguments it has to look at.
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
			measure := func(o *Options) time.Duration {
				var took time.Duration
				onThread(b, o, func() {
					start := time.Now()
					for range b.N {
						call.make()
					}
					took = time.Since(start)
				})
				return took
			}
			// The three run in the same process one after the other, so that
			// they share what noise there is.
			bare := measure(nil)
			off := measure(&Options{})
			tcp := measure(&Options{Network: NetworkTCP, CloseTruncate: true})
			per := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / float64(b.N) }
			b.ReportMetric(per(bare), "bare-ns")
			b.ReportMetric(per(off), "off-ns")
			b.ReportMetric(per(tcp), "tcp-ns")
			b.ReportMetric(per(off)/per(bare), "off/bare")
			b.ReportMetric(per(tcp)/per(bare), "tcp/bare")
			b.ReportMetric(0, "ns/op")
		})
	}
	runtime.KeepAlive(&buffer)
}

// BenchmarkInstall measures the installation of the filter.
func BenchmarkInstall(b *testing.B) {
	requireSeccomp(b)
	for range b.N {
		onThread(b, &Options{}, func() {})
	}
}

func BenchmarkCompile(b *testing.B) {
	for _, o := range []Options{{Arch: AMD64}, {Arch: AMD64, Network: NetworkTCP, CloseTruncate: true}} {
		b.Run(o.Network.String(), func(b *testing.B) {
			b.ReportAllocs()
			var n int
			for b.Loop() {
				f, err := Compile(o)
				if err != nil {
					b.Fatal(err)
				}
				n = len(f.Program)
			}
			b.ReportMetric(float64(n), "instructions")
		})
	}
}
