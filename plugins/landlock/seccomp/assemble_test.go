package seccomp

import (
	"testing"

	"golang.org/x/net/bpf"

	"github.com/pinfold/pinfold/core"
)

func assembled(t *testing.T, p *program) core.SeccompFilter {
	t.Helper()
	raw, err := p.assemble()
	if err != nil {
		t.Fatal(err)
	}
	var f core.SeccompFilter
	for _, r := range raw {
		f.Program = append(f.Program, core.BPFInstruction{Code: r.Op, JT: r.Jt, JF: r.Jf, K: r.K})
	}
	return f
}

// TestLongJumps: both sides of a branch, alone and together, near the limit of
// what a conditional jump reaches and far beyond it.
func TestLongJumps(t *testing.T) {
	for _, gap := range []int{0, 1, 253, 254, 255, 256, 257, 258, 1000} {
		for _, second := range []int{0, 1, 254, 255, 256, 600} {
			var p program
			yes, no := p.newLabel(), p.newLabel()
			p.add(bpf.LoadAbsolute{Off: offsetNumber, Size: wordSize})
			p.branch(bpf.JumpEqual, 7, yes, no)
			pad := func(n int) {
				for range n {
					p.add(bpf.RetConstant{Val: 0xbad})
				}
			}
			pad(gap)
			p.mark(no)
			p.add(bpf.RetConstant{Val: 2})
			pad(second)
			p.mark(yes)
			p.add(bpf.RetConstant{Val: 1})
			f := assembled(t, &p)
			for number, want := range map[uint32]uint32{7: 1, 8: 2} {
				if got, _, _ := run(t, f, callData{number: number}); got != want {
					t.Errorf("gaps %d and %d: %d gives %#x, want %d", gap, second, number, got, want)
				}
			}
		}
	}
}

// TestLongSearch: a search so large that its branches push each other apart.
func TestLongSearch(t *testing.T) {
	c := &compiler{returns: make(map[answer]label)}
	c.add(bpf.LoadAbsolute{Off: offsetNumber, Size: wordSize})
	const n = 900
	ranges := []numberRange{{0, c.ret(0)}}
	for i := uint32(1); i < n; i++ {
		ranges = append(ranges, numberRange{i * 3, c.ret(answer(i % 7))})
	}
	c.search(merged(ranges))
	c.writeReturns()
	f := assembled(t, &c.program)
	if len(f.Program) > maxInstructions {
		t.Fatalf("%d instructions", len(f.Program))
	}
	for number := range uint32(n * 3) {
		want := answer(number / 3 % 7)
		if got := answerTo(t, f, callData{number: number}); got != want {
			t.Fatalf("%d gives %d, want %d", number, got, want)
		}
	}
}

func TestAssembleRefusesBadLabels(t *testing.T) {
	t.Run("unmarked", func(t *testing.T) {
		var p program
		p.jump(p.newLabel())
		if _, err := p.assemble(); err == nil {
			t.Error("no error")
		}
	})
	t.Run("at the end", func(t *testing.T) {
		var p program
		l := p.newLabel()
		p.jump(l)
		p.mark(l)
		if _, err := p.assemble(); err == nil {
			t.Error("no error")
		}
	})
	t.Run("backward", func(t *testing.T) {
		var p program
		l := p.newLabel()
		p.mark(l)
		p.add(bpf.RetConstant{})
		p.branch(bpf.JumpEqual, 0, l, l)
		if _, err := p.assemble(); err == nil {
			t.Error("no error")
		}
	})
}
