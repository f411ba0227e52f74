//go:build amd64 || arm64

package birth

import (
	"encoding/binary"
	"runtime"
	"unsafe"
)

// A machine is what parent and child share: the child reads its program here
// and writes down how far it came. It holds addresses as integers, all of
// pinned memory without Go pointers, so the garbage collector has nothing to
// follow and nothing to move. The assembly knows its layout from go_asm.h.
type machine struct {
	clone   cloneArgs
	code    uintptr // the first instruction
	end     uintptr // behind the last one
	at      uintptr // the instruction that the child began last, 0 before the first
	errno   uintptr // why the child ended itself
	mask    uint64  // the signal mask of the calling thread
	blocked uint64  // the mask with every signal
	pidfd   int64   // written by clone3
}

// cloneArgs is struct clone_args of <linux/sched.h>, version 2 (Linux 5.7).
type cloneArgs struct {
	flags      uint64
	pidfd      uint64
	_          [2]uint64 // child_tid, parent_tid
	exitSignal uint64
	_          [5]uint64 // stack, stack_size, tls, set_tid, set_tid_size
	cgroup     uint64
}

// An instruction is a step as the child executes it. Each argument is fetched
// from an address: of a value of the instruction, or of the result of an
// earlier one.
type instruction struct {
	call   uintptr
	from   [6]uintptr
	value  [6]uintptr
	result uintptr
}

// A memory holds everything the child's system calls refer to.
type memory struct {
	words  []uint64
	used   int
	pinner runtime.Pinner
	code   []instruction
	m      *machine
}

func address[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

// load lays the program out in pinned memory. The caller calls unpin when the
// child is done with it.
func (p *Program) load() *memory {
	mem := &memory{
		words: make([]uint64, p.size()),
		code:  make([]instruction, len(p.steps)),
		m:     &machine{blocked: ^uint64(0)},
	}
	mem.pinner.Pin(mem.m)
	mem.pinner.Pin(&mem.code[0])
	mem.pinner.Pin(&mem.words[0])

	m := mem.m
	m.code = address(&mem.code[0])
	m.end = m.code + uintptr(len(mem.code))*unsafe.Sizeof(instruction{})
	m.clone = cloneArgs{flags: p.flags, pidfd: uint64(address(&m.pidfd)), exitSignal: sigchld}
	if p.birth.Cgroup != nil {
		m.clone.cgroup = uint64(p.birth.Cgroup.Fd())
	}
	for i, s := range p.steps {
		in := &mem.code[i]
		in.call = s.call.number
		for j := range in.from {
			in.from[j] = address(&in.value[j])
		}
		for j, a := range s.args {
			switch a.kind {
			case number:
				in.value[j] = a.value
			case result:
				in.from[j] = address(&mem.code[a.value].result)
			case resultAt:
				in.value[j] = address(&mem.code[a.value].result)
			default:
				in.value[j] = mem.pointer(p, a)
			}
		}
	}
	return mem
}

func (mem *memory) unpin() { mem.pinner.Unpin() }

// pointer puts what an argument points to into memory.
func (mem *memory) pointer(p *Program, a arg) uintptr {
	switch a.kind {
	case maskAt:
		return address(&mem.m.mask)
	case argv:
		return mem.vector(p.command.Args)
	case envp:
		return mem.vector(p.command.Env)
	case filter:
		program := mem.put(a.bytes)
		var header [16]byte // struct sock_fprog
		binary.NativeEndian.PutUint16(header[:], uint16(len(a.bytes)/8))
		binary.NativeEndian.PutUint64(header[8:], uint64(program))
		return mem.put(string(header[:]))
	}
	return mem.put(a.bytes)
}

// put copies s and a NUL byte to the next free word.
func (mem *memory) put(s string) uintptr {
	to := mem.words[mem.used:][:wordsFor(s)]
	mem.used += len(to)
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&to[0])), len(s)), s)
	return address(&to[0])
}

// vector makes a NULL-terminated array of pointers to strings.
func (mem *memory) vector(values []string) uintptr {
	to := mem.words[mem.used:][:len(values)+1]
	mem.used += len(to)
	for i, s := range values {
		to[i] = uint64(mem.put(s))
	}
	return address(&to[0])
}

// wordsFor is the number of words that s takes, with at least one NUL byte.
func wordsFor(s string) int { return len(s)/8 + 1 }

// size is the number of words that load fills.
func (p *Program) size() int {
	n := 1
	for _, s := range p.steps {
		for _, a := range s.args {
			switch a.kind {
			case text, data:
				n += wordsFor(a.bytes)
			case filter:
				n += wordsFor(a.bytes) + wordsFor("0123456789abcdef")
			}
		}
	}
	for _, values := range [][]string{p.command.Args, p.command.Env} {
		n += len(values) + 1
		for _, s := range values {
			n += wordsFor(s)
		}
	}
	return n
}
