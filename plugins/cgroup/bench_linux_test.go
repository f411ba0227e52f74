package cgroup

import (
	"fmt"
	"os"
	"testing"

	"github.com/pinfold/pinfold/core"
)

// BenchmarkOpenClose is the whole life of a session that nobody was born in.
func BenchmarkOpenClose(b *testing.B) {
	tr := tracker(b)
	req := request(b)
	for b.Loop() {
		openAndClose(b, tr, req, func(*core.Opened) {})
	}
}

func openAndClose(b *testing.B, tr *Tracker, req *core.OpenRequest, between func(*core.Opened)) {
	o, err := tr.Open(ctx, req)
	if err != nil {
		b.Fatal(err)
	}
	between(o)
	o.Birth.Close()
	if report, err := tr.Close(ctx, o.Handle); err != nil || report.Outcome != core.ProvedEmpty {
		b.Fatalf("%+v, %v", report, err)
	}
}

// BenchmarkOpenKillClose is a session that is killed and closed, with nobody in it.
func BenchmarkOpenKillClose(b *testing.B) {
	tr := tracker(b)
	req := request(b)
	for b.Loop() {
		openAndClose(b, tr, req, func(o *core.Opened) {
			if _, err := tr.Kill(ctx, o.Handle); err != nil {
				b.Fatal(err)
			}
		})
	}
}

func BenchmarkOpen(b *testing.B) {
	tr := tracker(b)
	req := request(b)
	for b.Loop() {
		o, err := tr.Open(ctx, req)
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		o.Birth.Close()
		tr.Close(ctx, o.Handle)
		b.StartTimer()
	}
}

func BenchmarkVerify(b *testing.B) {
	tr := tracker(b)
	o := open(b, tr)
	p := start(b, o, "sleep")
	for b.Loop() {
		if err := tr.Verify(ctx, o.Handle, p.Process.Pid); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEnd is the time until the kernel says that nobody is left, and with
// Close, until the cgroup is gone.
func BenchmarkEnd(b *testing.B) {
	for _, way := range ends {
		for _, n := range []int{1, 10, 100, 1000} {
			b.Run(fmt.Sprintf("%s/%d", way.name, n), func(b *testing.B) {
				tr := tracker(b, way.option)
				for b.Loop() {
					b.StopTimer()
					// Who is killed is a zombie until init has taken note, and has
					// its pid as long.
					until(b, "init has reaped the last ones", func() bool {
						entries, err := os.ReadDir("/proc")
						return err == nil && len(entries) < 16000
					})
					o, err := tr.Open(ctx, request(b))
					if err != nil {
						b.Fatal(err)
					}
					p := start(b, o, "many", fmt.Sprint(n-1))
					b.StartTimer()
					report, err := way.end(tr, ctx, o.Handle)
					b.StopTimer()
					if err != nil || report.Killed != n {
						tr.Close(ctx, o.Handle)
						b.Fatalf("killed %d of %d: %v", report.Killed, n, err)
					}
					p.Wait()
					o.Birth.Close()
					tr.Close(ctx, o.Handle)
					b.StartTimer()
				}
			})
		}
	}
}

// BenchmarkSessions lists what one process has open.
func BenchmarkSessions(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			tr := tracker(b)
			for range n {
				open(b, tr)
			}
			for b.Loop() {
				if _, err := tr.Sessions(ctx); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkJoin is the first Open's proof that a process can be born inside.
func BenchmarkJoin(b *testing.B) {
	tr := tracker(b)
	o := open(b, tr)
	for b.Loop() {
		if err := join(int(o.Birth.Cgroup.Fd())); err != nil {
			b.Fatal(err)
		}
	}
}
