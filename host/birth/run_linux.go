//go:build amd64 || arm64

package birth

import (
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const sigchld = uint64(unix.SIGCHLD)

// vfork clones a child that executes the program of m, and returns its pid, or
// a negated errno, when the child has called execve or ended. It is written in
// assembly: the runtime preempts no goroutine there, and the thread has every
// signal blocked meanwhile.
//
// The goroutine keeps its P meanwhile, as in the fork of package syscall.
func vfork(m *machine) (pid int)

// Start starts the program; see the function [Start]. A program may be started
// more than once.
func (p *Program) Start() (*os.Process, error) {
	mem := p.load()
	defer mem.unpin()
	m := mem.m
	pid := vfork(m)
	runtime.KeepAlive(p.command)
	runtime.KeepAlive(p.birth)
	if pid < 0 {
		return nil, p.failed(0, syscall.Errno(-pid), 0)
	}
	pidfd := int(int32(m.pidfd))
	defer unix.Close(pidfd)
	if err := p.outcome(m, pidfd); err != nil {
		return nil, err
	}
	return adopt(pid, pidfd)
}

// outcome reads what the child wrote down, and reaps it if it did not reach the
// command.
func (p *Program) outcome(m *machine, pidfd int) error {
	last := m.end - unsafe.Sizeof(instruction{})
	if m.at == last && m.errno == 0 {
		return nil
	}
	signal := reap(pidfd)
	if m.at == 0 {
		e := p.failed(0, 0, signal)
		if signal == 0 || signal == syscall.SIGKILL {
			e.Detail = "the child did not begin: it was killed at birth, or the kernel does not share memory with a vfork child"
		}
		return e
	}
	if m.at == m.end {
		e := p.failed(len(p.steps), 0, 0)
		e.Detail = "a seccomp filter answered in the kernel's place, and the command was not executed"
		return e
	}
	return p.failed(1+int((m.at-m.code)/unsafe.Sizeof(instruction{})), syscall.Errno(m.errno), signal)
}

// reap waits for a child that ended, or ends it, and returns the signal that
// killed it, if one did.
func reap(pidfd int) syscall.Signal {
	unix.PidfdSendSignal(pidfd, unix.SIGKILL, nil, 0) // without effect on one that ended
	var info struct {
		signo, errno, code, _ int32
		pid, uid, status      int32
		_                     [100]byte
	}
	for {
		err := unix.Waitid(unix.P_PIDFD, pidfd, (*unix.Siginfo)(unsafe.Pointer(&info)), unix.WEXITED, nil)
		if err == unix.EINTR {
			continue
		}
		const killed, dumped = 2, 3 // CLD_KILLED, CLD_DUMPED
		if err == nil && (info.code == killed || info.code == dumped) {
			return syscall.Signal(info.status)
		}
		return 0
	}
}

// adopt makes an os.Process of the child. The process it holds is the child and
// no other: a pid is not used again before its process has been waited for, and
// the pidfd, which clone3 returned with the child, still knows its process after
// os.FindProcess opened one of its own by the pid.
func adopt(pid, pidfd int) (*os.Process, error) {
	process, err := os.FindProcess(pid)
	if err != nil {
		return nil, &Error{Step: "wait", Index: -1, Call: "pidfd_open", Detail: err.Error()}
	}
	if err := unix.PidfdSendSignal(pidfd, 0, nil, 0); err == unix.ESRCH {
		process.Release()
		return nil, &Error{Step: "wait", Index: -1, Errno: unix.ESRCH,
			Detail: "the command ran, and its exit status is lost",
			Remedy: "the calling program must not ignore SIGCHLD, nor wait for children that it did not start"}
	}
	return process, nil
}
