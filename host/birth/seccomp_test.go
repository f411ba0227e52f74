//go:build linux && (amd64 || arm64)

package birth

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
)

const (
	allow       = 0x7fff0000 // SECCOMP_RET_ALLOW
	killProcess = 0x80000000 // SECCOMP_RET_KILL_PROCESS
	refuseWith  = 0x00050000 // SECCOMP_RET_ERRNO, plus the errno
)

// answer is a filter that gives an answer to each of the calls, and allows the
// rest.
func answer(action uint32, calls ...uintptr) core.SeccompFilter {
	program := []core.BPFInstruction{{Code: 0x20}} // load the number
	for _, nr := range calls {
		program = append(program,
			core.BPFInstruction{Code: 0x15, JF: 1, K: uint32(nr)}, // skip one if it is another
			core.BPFInstruction{Code: 0x06, K: action})
	}
	return core.SeccompFilter{Program: append(program, core.BPFInstruction{Code: 0x06, K: allow})}
}

func filtered(filters ...core.SeccompFilter) *core.Birth {
	return &core.Birth{NoNewPrivileges: true, Seccomp: filters}
}

func TestSeccomp(t *testing.T) {
	dir := scratch(t)
	expectTries(t, nil, "mkdir:"+dir+"/a", "ok", "write:"+dir+"/b", "ok")
	b := filtered(answer(refuseWith|uint32(unix.EXDEV), unix.SYS_MKDIRAT))
	expectTries(t, b, "mkdir:"+dir+"/c", "EXDEV", "write:"+dir+"/d", "ok")
}

func TestSeccompFiltersStack(t *testing.T) {
	b := filtered(answer(refuseWith|uint32(unix.EXDEV), unix.SYS_MKDIRAT), answer(refuseWith|uint32(unix.ENOTTY), unix.SYS_UMOUNT2))
	s := observe(t, &Command{}, b)
	if s.Status["Seccomp"] != "2" || s.Status["Seccomp_filters"] != "2" {
		t.Errorf("seccomp mode %s, %s filters", s.Status["Seccomp"], s.Status["Seccomp_filters"])
	}
	expectTries(t, b, "mkdir:/nonexistent/x", "EXDEV", "umount:/nonexistent", "ENOTTY")
}

// TestLongestFilter: 4096 instructions are allowed, and one more is refused
// before anything is done.
func TestLongestFilter(t *testing.T) {
	program := make([]core.BPFInstruction, 4096)
	for i := range program {
		program[i] = core.BPFInstruction{Code: 0x06, K: allow}
	}
	s := observe(t, &Command{}, filtered(core.SeccompFilter{Program: program}))
	if s.Status["Seccomp"] != "2" {
		t.Errorf("seccomp mode %s", s.Status["Seccomp"])
	}
	_, err := Start(child("exit", "0"), filtered(core.SeccompFilter{Program: append(program, program[0])}))
	var e *Error
	if !errors.As(err, &e) || e.Step != StepCommand || e.Errno != unix.EINVAL {
		t.Errorf("4097 instructions: %v", err)
	}
}

// TestFilterThatForbidsWriting: the error of a launch needs no system call but
// the last one of the child.
func TestFilterThatForbidsWriting(t *testing.T) {
	b := filtered(answer(killProcess, unix.SYS_WRITE, unix.SYS_READ, unix.SYS_CLOSE, unix.SYS_RT_SIGPROCMASK))
	_, err := Start(&Command{Path: "/nonexistent", Args: []string{"x"}}, b)
	var e *Error
	if !errors.As(err, &e) || e.Step != StepExec || e.Errno != unix.ENOENT {
		t.Errorf("%v", err)
	}
}
