//go:build amd64 || arm64

package birth

import (
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
)

// A Program is a compiled birth: what the child will do, call by call. It
// refers to the files of the Command and the Birth it was compiled from, which
// must stay open until it has been started.
type Program struct {
	command *Command
	birth   *core.Birth
	flags   uint64 // of clone3
	steps   []step
}

// A step is one system call of the child.
type step struct {
	name string // Error.Step
	path string // Error.Path
	call call
	args []arg
}

type argKind uint8

const (
	number   argKind = iota // an integer, or a descriptor of the parent
	text                    // a NUL-terminated string
	data                    // a structure or a buffer
	filter                  // struct sock_fprog of seccomp filter value
	result                  // what step value returned
	resultAt                // the address of what step value returned
	maskAt                  // the address of the parent's signal mask
	argv                    // Command.Args
	envp                    // Command.Env
)

// An arg is one argument of a system call. Shown is how it is printed if its
// value says little, or belongs to this machine.
type arg struct {
	kind  argKind
	value uintptr
	bytes string
	shown string
}

func num[T ~int | ~uint32 | ~uint64](value T) arg { return arg{value: uintptr(value)} }

func sym[T ~int](value T, shown string) arg { return arg{value: uintptr(value), shown: shown} }

func str(s string) arg { return arg{kind: text, bytes: s} }

func buf(bytes []byte, shown string) arg { return arg{kind: data, bytes: string(bytes), shown: shown} }

func of(step int) arg { return arg{kind: result, value: uintptr(step)} }

func addressOf(step int) arg { return arg{kind: resultAt, value: uintptr(step)} }

// file is a descriptor that the child inherited at its number in the parent.
func file(f *os.File, shown string) arg { return arg{value: f.Fd(), shown: shown} }

var (
	null = arg{shown: "NULL"}
	here = arg{value: ^uintptr(99), shown: "AT_FDCWD"} // -100
)

// Compile checks c and b, which may be nil, and compiles them. It changes
// nothing, but for what [Start] says about blocking files.
func Compile(c *Command, b *core.Birth) (*Program, error) {
	if b == nil {
		b = &core.Birth{}
	}
	if err := validate(c, b); err != nil {
		return nil, err
	}
	return compile(c, b)
}

func start(c *Command, b *core.Birth) (*os.Process, error) {
	p, err := compile(c, b)
	if err != nil {
		return nil, err
	}
	return p.Start()
}

// String prints the program, one system call a line, with its place, the name
// of its step and its arguments. What depends on the machine and the moment
// (addresses, numbers of descriptors, user ids) is printed as what it stands
// for: "=3" is the result of call 3.
func (p *Program) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%2d  %-22s clone3(%s)\n", 0, "clone", strings.Join(cloneFlagNames(p.flags), "|"))
	for i, s := range p.steps {
		args := make([]string, len(s.args))
		for j, a := range s.args {
			args[j] = a.String()
		}
		fmt.Fprintf(&b, "%2d  %-22s %s(%s)\n", i+1, s.name, s.call.name, strings.Join(args, ", "))
	}
	return b.String()
}

func (a arg) String() string {
	switch {
	case a.shown != "":
		return a.shown
	case a.kind == text:
		return fmt.Sprintf("%q", a.bytes)
	case a.kind == result:
		return fmt.Sprintf("=%d", a.value+1)
	case a.kind == resultAt:
		return fmt.Sprintf("&=%d", a.value+1)
	case a.kind == filter:
		return fmt.Sprintf("%d instructions", len(a.bytes)/8)
	case a.kind == argv:
		return "argv"
	case a.kind == envp:
		return "envp"
	}
	return fmt.Sprint(int64(a.value))
}

func cloneFlagNames(flags uint64) []string {
	var names []string
	for _, f := range []struct {
		bit  uint64
		name string
	}{
		{unix.CLONE_VM, "CLONE_VM"},
		{unix.CLONE_VFORK, "CLONE_VFORK"},
		{unix.CLONE_PIDFD, "CLONE_PIDFD"},
		{unix.CLONE_CLEAR_SIGHAND, "CLONE_CLEAR_SIGHAND"},
		{unix.CLONE_INTO_CGROUP, "CLONE_INTO_CGROUP"},
		{unix.CLONE_NEWUSER, "CLONE_NEWUSER"},
		{unix.CLONE_NEWPID, "CLONE_NEWPID"},
	} {
		if flags&f.bit != 0 {
			names = append(names, f.name)
		}
	}
	return names
}

// A failed is the answer of the kernel to one step.
func (p *Program) failed(index int, errno syscall.Errno, signal syscall.Signal) *Error {
	e := &Error{Index: index, Errno: errno, Signal: signal}
	if index == 0 {
		e.Step, e.Call = cloneStep(p.flags, errno), "clone3"
	} else {
		s := p.steps[index-1]
		e.Step, e.Call, e.Path = s.name, s.call.name, s.path
	}
	e.Remedy = remedy(p, e)
	return e
}
