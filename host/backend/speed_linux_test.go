package backend

import (
	"testing"
	"time"
)

// BenchmarkColdStart is from nothing to the first answer, and the end.
func BenchmarkColdStart(b *testing.B) {
	program := self(b, "")
	dir := shortDir(b)
	for b.Loop() {
		s := newSupervisor(program, dir)
		if _, err := s.Confiner().Describe(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		s.Close()
		b.StartTimer()
	}
}

// BenchmarkCall is one call of a running backend.
func BenchmarkCall(b *testing.B) {
	s := supervise(b, self(b, ""))
	if err := s.Start(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.Confiner().Describe(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPlanWithFile is a call whose answer has a file with it.
func BenchmarkPlanWithFile(b *testing.B) {
	s := supervise(b, self(b, ""))
	if err := s.Start(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		p, err := s.Confiner().Plan(b.Context(), policy("file", 10))
		if err != nil {
			b.Fatal(err)
		}
		p.Close()
	}
}

// BenchmarkClose is the orderly end of a backend.
func BenchmarkClose(b *testing.B) {
	program := self(b, "")
	dir := shortDir(b)
	var total time.Duration
	for b.Loop() {
		s := newSupervisor(program, dir)
		if err := s.Start(); err != nil {
			b.Fatal(err)
		}
		begin := time.Now()
		s.Close()
		total += time.Since(begin)
	}
	b.ReportMetric(float64(total.Microseconds())/float64(b.N)/1000, "ms/close")
}
