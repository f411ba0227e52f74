package seccomp

import (
	"fmt"

	"golang.org/x/net/bpf"
)

// maxJump is how far a conditional jump reaches: its offsets have 8 bits.
// An unconditional one has 32.
const maxJump = 255

// A label is a place in a program, to be marked after the jumps to it: BPF
// only jumps forward.
type label int

// An item is an instruction whose jumps still name labels.
type item struct {
	op bpf.Instruction // the instruction, or nil if the item is a jump

	test        bpf.JumpTest
	value       uint32
	yes, no     label
	unequivocal bool // jump to yes without a test

	// far says that the jump is too long and takes a step in between.
	farYes, farNo bool
}

// size is the number of instructions that the item takes.
func (it *item) size() int {
	n := 1
	if it.farYes {
		n++
	}
	if it.farNo {
		n++
	}
	return n
}

// A program is being assembled. The zero program is empty.
type program struct {
	items  []item
	places []int // of labels, as indices of items; unmarked ones are -1
}

func (p *program) newLabel() label {
	p.places = append(p.places, -1)
	return label(len(p.places) - 1)
}

// mark puts the label in front of what is added next.
func (p *program) mark(l label) { p.places[l] = len(p.items) }

func (p *program) add(op bpf.Instruction) { p.items = append(p.items, item{op: op}) }

func (p *program) jump(to label) {
	p.items = append(p.items, item{yes: to, unequivocal: true})
}

// branch compares the accumulator and goes to yes or to no.
func (p *program) branch(test bpf.JumpTest, value uint32, yes, no label) {
	p.items = append(p.items, item{test: test, value: value, yes: yes, no: no})
}

// assemble settles the labels. Its errors are mistakes of the code that built
// the program.
func (p *program) assemble() ([]bpf.RawInstruction, error) {
	offsets, err := p.settle()
	if err != nil {
		return nil, err
	}
	target := func(l label) int { return offsets[p.places[l]] }
	var out []bpf.Instruction
	for i := range p.items {
		it := &p.items[i]
		next := offsets[i] + 1
		switch {
		case it.op != nil:
			out = append(out, it.op)
		case it.unequivocal:
			out = append(out, bpf.Jump{Skip: uint32(target(it.yes) - next)})
		default:
			out = append(out, it.lower(next, target)...)
		}
	}
	return bpf.Assemble(out)
}

// lower makes a branch of which next is the offset of the following instruction.
// A far target is reached by way of an unconditional jump right behind.
func (it *item) lower(next int, target func(label) int) []bpf.Instruction {
	branch := bpf.JumpIf{Cond: it.test, Val: it.value}
	var steps []bpf.Instruction
	skip := func(to label, far bool) uint8 {
		if !far {
			return uint8(target(to) - next)
		}
		steps = append(steps, bpf.Jump{Skip: uint32(target(to) - next - len(steps) - 1)})
		return uint8(len(steps) - 1)
	}
	branch.SkipTrue = skip(it.yes, it.farYes)
	branch.SkipFalse = skip(it.no, it.farNo)
	return append([]bpf.Instruction{branch}, steps...)
}

// settle finds which branches are far and returns the offset of each item, and
// of the end. Widening one branch can push others apart, so it repeats until
// nothing changes; branches only ever widen, so it ends.
func (p *program) settle() ([]int, error) {
	for {
		offsets := make([]int, len(p.items)+1)
		for i := range p.items {
			offsets[i+1] = offsets[i] + p.items[i].size()
		}
		changed := false
		for i := range p.items {
			it := &p.items[i]
			if it.op != nil {
				continue
			}
			yes, err := p.distance(i, it.yes, offsets)
			if err != nil {
				return nil, err
			}
			if it.unequivocal {
				continue
			}
			no, err := p.distance(i, it.no, offsets)
			if err != nil {
				return nil, err
			}
			if yes > maxJump && !it.farYes {
				it.farYes, changed = true, true
			}
			if no > maxJump && !it.farNo {
				it.farNo, changed = true, true
			}
		}
		if !changed {
			return offsets, nil
		}
	}
}

// distance is how many instructions lie between the first one of item i and
// the label.
func (p *program) distance(i int, to label, offsets []int) (int, error) {
	place := p.places[to]
	if place < 0 || place >= len(p.items) {
		return 0, fmt.Errorf("jump of item %d to a label that marks nothing", i)
	}
	if place <= i {
		return 0, fmt.Errorf("jump of item %d back to item %d", i, place)
	}
	return offsets[place] - offsets[i] - 1, nil
}
