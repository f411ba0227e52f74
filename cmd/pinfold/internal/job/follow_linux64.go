//go:build linux && (amd64 || arm64)

package job

import (
	"os/signal"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// following is what is known of the command's stops.
type following struct {
	stopped bool // the command is, as far as is known
	held    int  // the group that had the terminal when pinfold stopped, if the command's, or 0
}

// watchStops begins to receive what stops and continues the command and pinfold.
func (r *Relay) watchStops() {
	signal.Notify(r.stops, stopping...)
	signal.Notify(r.signals, syscall.SIGCHLD, syscall.SIGCONT)
}

// unwatchStops lets pinfold stop again when it uses the terminal from the
// background. A Ctrl-Z that is still on its way was meant for the command.
func (r *Relay) unwatchStops() {
	signal.Stop(r.stops)
	setAction(syscall.SIGTTIN, &action{})
	setAction(syscall.SIGTTOU, &action{})
}

// follow takes note of what became of the command, and stops pinfold if the
// command has been stopped as a job.
func (r *Relay) follow() {
	for followed := false; ; {
		sig, stopped, news := r.change()
		switch {
		case news:
			r.following.stopped = stopped
			if stopped && r.asJob(&sig) {
				r.stop(sig)
				followed = true
			}
		case followed && r.following.stopped:
			r.resume() // pinfold alone was continued
			return
		default:
			return
		}
	}
}

// continued passes on that pinfold was continued. What is news of the command by
// then is followed first: it may have been stopped again.
//
// Without a terminal nobody else would continue the command, and it is continued
// whether it is known to be stopped or not: of a program with threads the kernel
// tells only when the last of them has stopped.
func (r *Relay) continued() {
	if r.terminal.foreground() == syscall.Getpgrp() {
		r.front = true
	}
	r.follow()
	if r.following.stopped || r.terminal.file == nil {
		r.resume()
	}
}

// resume continues the command, and puts its process group where it was.
func (r *Relay) resume() {
	r.following.stopped = false
	own := syscall.Getpgrp()
	if r.following.held != 0 && r.following.held != own && r.terminal.foreground() == own {
		r.terminal.give(r.following.held)
		signal.Notify(r.stops, stopping...) // give has reset one of them
	}
	r.command.Signal(syscall.SIGCONT)
}

// asJob reports whether the command was stopped as a job, and makes of the signal
// one that stops pinfold in the same way.
//
// A command that was stopped by SIGSTOP was either stopped together with pinfold,
// which cannot catch it either, or alone, by somebody who wanted just that. But a
// shell that stops itself (bash's suspend) does it by SIGSTOP while its group has
// the terminal, which would be nobody's if pinfold went on.
func (r *Relay) asJob(sig *syscall.Signal) bool {
	if r.terminal.file == nil {
		return false
	}
	if *sig != syscall.SIGSTOP {
		return true
	}
	*sig = syscall.SIGTSTP
	group, err := syscall.Getpgid(r.command.Pid)
	return err == nil && group != syscall.Getpgrp() && group == r.terminal.foreground()
}

// stop stops pinfold by the signal that stopped the command, or that came before
// there was one, and returns when pinfold is continued. In an orphaned process
// group, which nobody would continue, the kernel discards the signal (setpgid(2)).
func (r *Relay) stop(sig syscall.Signal) {
	r.following.held = 0
	if r.command != nil {
		if group, err := syscall.Getpgid(r.command.Pid); err == nil && group == r.terminal.foreground() {
			r.following.held = group
		}
	}
	// The signal may have come to pinfold as well. Delivered after pinfold is
	// continued, it would stop the job a second time, so it is taken now: Stop
	// returns when every signal that has arrived is in the channel.
	signal.Stop(r.stops)
	for len(r.stops) > 0 {
		<-r.stops
	}
	caught := setAction(sig, &action{})
	// A signal that a thread sends to itself takes effect before the call returns.
	runtime.LockOSThread()
	unix.Tgkill(unix.Getpid(), unix.Gettid(), sig)
	runtime.UnlockOSThread()
	setAction(sig, &caught)
	signal.Notify(r.stops, stopping...)
}

// action is the kernel's struct sigaction on the 64-bit architectures; the zero
// action is SIG_DFL.
type action struct{ handler, flags, restorer, mask uint64 }

// setAction sets what a signal does, and returns what it did. Package signal
// cannot: once it has caught a signal that stops, the Go runtime's handler stays
// and ignores what nobody asks for (Go 1.26, runtime.sigdisable).
func setAction(sig syscall.Signal, to *action) (old action) {
	unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(to)), uintptr(unsafe.Pointer(&old)),
		unsafe.Sizeof(old.mask), 0, 0)
	return old
}

// change returns what the kernel has to tell of stops and continuations of the
// command. It takes no exit status: that is for whoever waits for the command.
func (r *Relay) change() (sig syscall.Signal, stopped, news bool) {
	const cldStopped = 5 // CLD_STOPPED of <asm-generic/siginfo.h>
	// siginfo_t as waitid(2) fills it.
	var info struct {
		signo, errno, code, _ int32
		pid, uid, status      int32
		_                     [100]byte
	}
	err := unix.Waitid(unix.P_PID, r.command.Pid, (*unix.Siginfo)(unsafe.Pointer(&info)),
		unix.WSTOPPED|unix.WCONTINUED|unix.WNOHANG, nil)
	if err != nil || info.pid == 0 {
		return 0, false, false
	}
	return syscall.Signal(info.status), info.code == cldStopped, true
}
