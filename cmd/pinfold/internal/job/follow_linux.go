package job

import (
	"os/signal"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// watchStops begins to receive what stops and continues the command and pinfold.
func (r *Relay) watchStops() {
	signal.Notify(r.stops, stopping...)
	signal.Notify(r.signals, syscall.SIGCHLD, syscall.SIGCONT)
}

func (r *Relay) unwatchStops() {
	signal.Reset(stopping...)
	signal.Reset(syscall.SIGCHLD, syscall.SIGCONT)
}

// follow stops pinfold if the command has been stopped as a job. A command
// stopped by SIGSTOP was either stopped together with pinfold, which cannot catch
// it either, or alone by somebody who wants just that.
func (r *Relay) follow() {
	for {
		sig, stopped, news := r.change()
		if !news {
			return
		}
		r.stopped = stopped
		if stopped && sig != syscall.SIGSTOP && r.terminal.file != nil {
			r.stop(sig)
		}
	}
}

// stop stops pinfold by the signal that stopped the command, and returns when
// pinfold is continued. In an orphaned process group, which nobody would
// continue, the kernel discards the signal (setpgid(2)); then the command goes
// on too.
func (r *Relay) stop(sig syscall.Signal) {
	r.held = 0
	if group, err := syscall.Getpgid(r.command.Pid); err == nil && group == r.terminal.foreground() {
		r.held = group
	}
	// The signal may have come to pinfold as well. Delivered after pinfold is
	// continued, it would stop the job a second time, so it is taken now: Reset
	// returns when every signal that has arrived is in the channel.
	signal.Reset(stopping...)
	for len(r.stops) > 0 {
		<-r.stops
	}
	// A signal that a thread sends to itself takes effect before the call returns.
	runtime.LockOSThread()
	unix.Tgkill(unix.Getpid(), unix.Gettid(), sig)
	runtime.UnlockOSThread()
	signal.Notify(r.stops, stopping...)
	r.continued()
}

// continued continues the command if it is stopped, and puts its process group
// where it was.
func (r *Relay) continued() {
	own := syscall.Getpgrp()
	at := r.terminal.foreground()
	if at == own {
		r.front = true
	}
	for {
		_, stopped, news := r.change()
		if !news {
			break
		}
		r.stopped = stopped
	}
	if !r.stopped {
		return
	}
	r.stopped = false
	if r.held != 0 && r.held != own && at == own {
		r.terminal.give(r.held)
		signal.Notify(r.stops, stopping...) // give has reset one of them
	}
	r.command.Signal(syscall.SIGCONT)
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
