package seccomp

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/pinfold/pinfold/core"
)

// callData is struct seccomp_data of <linux/seccomp.h>.
type callData struct {
	number, arch uint32
	args         [6]uint64
}

func (d callData) bytes() []byte {
	b := binary.LittleEndian.AppendUint32(nil, d.number)
	b = binary.LittleEndian.AppendUint32(b, d.arch)
	b = binary.LittleEndian.AppendUint64(b, 0) // instruction pointer
	for _, a := range d.args {
		b = binary.LittleEndian.AppendUint64(b, a)
	}
	return b
}

// The codes that seccomp_check_filter in kernel/seccomp.c takes and that the
// kernel's constant-allow analysis understands, except loads of arguments.
const (
	codeLoad  = 0x20 // BPF_LD|BPF_W|BPF_ABS
	codeAnd   = 0x54 // BPF_ALU|BPF_AND|BPF_K
	codeJump  = 0x05 // BPF_JMP|BPF_JA
	codeEqual = 0x15 // BPF_JMP|BPF_JEQ|BPF_K
	codeAbove = 0x35 // BPF_JMP|BPF_JGE|BPF_K
	codeRet   = 0x06 // BPF_RET|BPF_K
)

// run evaluates a filter as the kernel does. It also tells whether the filter
// read an argument, and how many instructions it took.
func run(t testing.TB, f core.SeccompFilter, d callData) (value uint32, readArgs bool, steps int) {
	t.Helper()
	data := d.bytes()
	var a uint32
	for pc := 0; pc < len(f.Program); pc++ {
		in := f.Program[pc]
		steps++
		skip := func(cond bool) {
			if cond {
				pc += int(in.JT)
			} else {
				pc += int(in.JF)
			}
		}
		switch in.Code {
		case codeLoad:
			if in.K%4 != 0 || int(in.K)+4 > len(data) {
				t.Fatalf("instruction %d loads from offset %d", pc, in.K)
			}
			readArgs = readArgs || in.K >= offsetArgs
			a = binary.LittleEndian.Uint32(data[in.K:])
		case codeAnd:
			a &= in.K
		case codeJump:
			pc += int(in.K)
		case codeEqual:
			skip(a == in.K)
		case codeAbove:
			skip(a >= in.K)
		case codeRet:
			return in.K, readArgs, steps
		default:
			t.Fatalf("instruction %d has code %#x", pc, in.Code)
		}
	}
	t.Fatal("the filter runs past its end")
	return 0, false, 0
}

// answerTo runs the filter and returns the errno, 0 for allow.
func answerTo(t testing.TB, f core.SeccompFilter, d callData) answer {
	t.Helper()
	value, _, _ := run(t, f, d)
	switch {
	case value == retAllow:
		return allow
	case value&0xffff0000 == retErrno && value&0xffff != 0:
		return answer(value & 0xffff)
	}
	t.Fatalf("filter returned %#x", value)
	return 0
}

// expected reads the table rule by rule, without the compiler's search.
func expected(o Options, d callData) answer {
	m := machines[o.Arch]
	switch {
	case d.arch != m.audit:
		return enosys
	case d.number == noCall:
		return allow
	case d.number > newestCall:
		return enosys
	}
	for _, r := range rulesFor(o) {
		if m.number(callsByName[r.call]) == int(d.number) && allHold(r.when, d) {
			return r.answer
		}
	}
	return allow
}

func allHold(when []condition, d callData) bool {
	for _, c := range when {
		v := uint32(d.args[c.arg])
		if c.high {
			v = uint32(d.args[c.arg] >> 32)
		}
		if c.mask.value != 0 {
			v &= c.mask.value
		}
		found := false
		for _, want := range c.values {
			found = found || v == want.value
		}
		if found == c.except {
			return false
		}
	}
	return true
}

// everyOptions are all combinations of options that compile.
func everyOptions() []Options {
	var all []Options
	for _, arch := range []Arch{AMD64, ARM64} {
		for network := NetworkOff; network <= NetworkUnfiltered; network++ {
			for unix := UnixClosed; unix <= UnixOpen; unix++ {
				for bits := range 4 {
					o := Options{Arch: arch, Network: network, Unix: unix, Listen: bits&1 != 0, CloseTruncate: bits&2 != 0}
					all = append(all, o)
					o.Leave = groupEnd - 1
					if _, err := o.resolved(); err != nil {
						o.Leave &^= GroupIOUring
					}
					all = append(all, o)
				}
			}
		}
	}
	return all
}

func (o Options) testName() string {
	return fmt.Sprintf("%s/net=%v/unix=%v/listen=%v/truncate=%v/leave=%v", o.Arch, o.Network, o.Unix, o.Listen, o.CloseTruncate, o.Leave)
}

func mustCompile(t testing.TB, o Options) core.SeccompFilter {
	t.Helper()
	f, err := Compile(o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
