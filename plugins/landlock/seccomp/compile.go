package seccomp

import (
	"fmt"
	"slices"

	"golang.org/x/net/bpf"

	"github.com/pinfold/pinfold/core"
)

// Offsets in struct seccomp_data of <linux/seccomp.h>. An argument is 64 bits
// wide, and both architectures store the low half first.
const (
	offsetNumber = 0
	offsetArch   = 4
	offsetArgs   = 16
	wordSize     = 4
)

// Return values of a filter (<linux/seccomp.h>).
const (
	retAllow = 0x7fff0000
	retErrno = 0x00050000
)

// maxInstructions is BPF_MAXINSNS.
const maxInstructions = 4096

// noCall is the number that a tracer gives a call that it wants skipped.
const noCall = 0xffffffff

// Compile makes the filter that the options describe. It is deterministic and
// safe for concurrent use. It fails for options that contradict each other, and
// with errors.ErrUnsupported for an architecture that has no table.
func Compile(o Options) (core.SeccompFilter, error) {
	o, err := o.resolved()
	if err != nil {
		return core.SeccompFilter{}, err
	}
	raw, err := compile(o).assemble()
	if err == nil && len(raw) > maxInstructions {
		err = fmt.Errorf("%d instructions, the kernel takes %d", len(raw), maxInstructions)
	}
	if err != nil {
		return core.SeccompFilter{}, fmt.Errorf("seccomp: bug: %w", err)
	}
	f := core.SeccompFilter{Program: make([]core.BPFInstruction, len(raw))}
	for i, r := range raw {
		f.Program[i] = core.BPFInstruction{Code: r.Op, JT: r.Jt, JF: r.Jf, K: r.K}
	}
	return f, nil
}

// A compiler writes a filter: the check of the architecture, the search for the
// call's number, the conditions of each call that has some, and the returns.
type compiler struct {
	program
	returns map[answer]label
}

func compile(o Options) *program {
	m := machines[o.Arch]
	c := &compiler{returns: make(map[answer]label)}

	search := c.newLabel()
	c.add(bpf.LoadAbsolute{Off: offsetArch, Size: wordSize})
	c.branch(bpf.JumpEqual, m.audit, search, c.ret(enosys))
	c.mark(search)
	c.add(bpf.LoadAbsolute{Off: offsetNumber, Size: wordSize})

	byNumber := make(map[uint32][]rule)
	for _, r := range rulesFor(o) {
		n := uint32(m.number(callsByName[r.call]))
		byNumber[n] = append(byNumber[n], r)
	}
	numbers := make([]uint32, 0, len(byNumber))
	for n := range byNumber {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)

	conditional := make(map[uint32]label)
	ranges := []numberRange{{0, c.ret(allow)}}
	for _, n := range numbers {
		to := c.newReturnOr(byNumber[n][0])
		if len(byNumber[n][0].when) > 0 {
			conditional[n] = to
		}
		ranges = append(ranges, numberRange{n, to}, numberRange{n + 1, c.ret(allow)})
	}
	ranges = append(ranges, numberRange{newestCall + 1, c.ret(enosys)}, numberRange{noCall, c.ret(allow)})
	c.search(merged(ranges))

	for _, n := range numbers {
		if l, ok := conditional[n]; ok {
			c.mark(l)
			c.decide(byNumber[n])
		}
	}
	c.writeReturns()
	return &c.program
}

// ret is the label of the return with this answer.
func (c *compiler) ret(a answer) label {
	l, ok := c.returns[a]
	if !ok {
		l = c.newLabel()
		c.returns[a] = l
	}
	return l
}

// newReturnOr is where a call goes whose first rule is r: straight to the
// answer, or to a new label if there are conditions to check.
func (c *compiler) newReturnOr(r rule) label {
	if len(r.when) == 0 {
		return c.ret(r.answer)
	}
	return c.newLabel()
}

// A numberRange is the calls from a number up to the start of the next range.
type numberRange struct {
	start uint32
	to    label
}

// merged drops empty ranges, and joins neighbours that go to the same place.
// A range is empty if the next one starts where it does.
func merged(ranges []numberRange) []numberRange {
	var out []numberRange
	for i, r := range ranges {
		if i+1 < len(ranges) && ranges[i+1].start == r.start {
			continue
		}
		if len(out) > 0 && out[len(out)-1].to == r.to {
			continue
		}
		out = append(out, r)
	}
	return out
}

// search writes a balanced tree of comparisons of the accumulator.
func (c *compiler) search(ranges []numberRange) {
	if len(ranges) == 1 {
		c.jump(ranges[0].to)
		return
	}
	mid := len(ranges) / 2
	low, high := ranges[:mid], ranges[mid:]
	place := func(half []numberRange) label {
		if len(half) == 1 {
			return half[0].to
		}
		return c.newLabel()
	}
	lowPlace, highPlace := place(low), place(high)
	c.branch(bpf.JumpGreaterOrEqual, high[0].start, highPlace, lowPlace)
	if len(low) > 1 {
		c.mark(lowPlace)
		c.search(low)
	}
	if len(high) > 1 {
		c.mark(highPlace)
		c.search(high)
	}
}

// decide writes the rules of one call.
func (c *compiler) decide(rules []rule) {
	for _, r := range rules {
		if len(r.when) == 0 {
			c.jump(c.ret(r.answer))
			return
		}
		next := c.newLabel()
		for i, cond := range r.when {
			holds := c.ret(r.answer)
			last := i == len(r.when)-1
			if !last {
				holds = c.newLabel()
			}
			c.check(cond, holds, next)
			if !last {
				c.mark(holds)
			}
		}
		c.mark(next)
	}
	c.jump(c.ret(allow))
}

// check writes one condition.
func (c *compiler) check(cond condition, holds, fails label) {
	offset := offsetArgs + 8*uint32(cond.arg)
	if cond.high {
		offset += wordSize
	}
	c.add(bpf.LoadAbsolute{Off: offset, Size: wordSize})
	if cond.mask.value != 0 {
		c.add(bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: cond.mask.value})
	}
	found, missed := holds, fails
	if cond.except {
		found, missed = fails, holds
	}
	for i, v := range cond.values {
		if i == len(cond.values)-1 {
			c.branch(bpf.JumpEqual, v.value, found, missed)
			return
		}
		more := c.newLabel()
		c.branch(bpf.JumpEqual, v.value, found, more)
		c.mark(more)
	}
}

// writeReturns ends the program, in a fixed order.
func (c *compiler) writeReturns() {
	var answers []answer
	for a := range c.returns {
		answers = append(answers, a)
	}
	slices.Sort(answers)
	for _, a := range answers {
		c.mark(c.returns[a])
		value := uint32(retAllow)
		if a != allow {
			value = retErrno | uint32(a)
		}
		c.add(bpf.RetConstant{Val: value})
	}
}
