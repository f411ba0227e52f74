package cgroup

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// The hostile programs. Those that fork do it with bare system calls, since the
// runtime does not survive a fork: every function on their way is nosplit and
// calls nothing else.

func hostile(mode string, args []string) {
	runtime.LockOSThread()
	switch mode {
	case "sleep":
		say("ready")
		pause()
	case "ignore":
		signal.Ignore()
		blockSignals()
		say("ready")
		pause()
	case "setsid":
		blockSignals()
		escapeBySession()
	case "double-fork":
		blockSignals()
		escapeByDoubleFork()
	case "stopped":
		blockSignals()
		stopChildren()
	case "hopper":
		blockSignals()
		hop()
	case "bomb":
		blockSignals()
		bomb(8)
	case "zombies":
		blockSignals()
		makeZombies(1000)
	case "many":
		n, _ := strconv.Atoi(args[0])
		blockSignals()
		many(n)
	case "nested":
		nest(args[0], 1)
	case "deep":
		nest(args[0], 700)
	case "threaded":
		thread(args[0])
	case "freezer":
		freeze(args[0])
	case "chmod":
		lock(args[0])
		say("ready")
		pause()
	case "chmod-read-only":
		must(os.MkdirAll(filepath.Join(args[0], "a/b"), 0o755))
		must(os.Chmod(filepath.Join(args[0], "a"), 0o555))
		must(os.Chmod(args[0], 0o555))
		must(os.Chmod(filepath.Dir(args[0]), 0o555))
		say("ready")
		pause()
	case "chmod-path":
		must(os.Chmod(filepath.Dir(args[0]), 0))
		say("ready")
		pause()
	case "chmod-loop":
		lock(args[0])
		say("ready")
		for {
			lock(args[0])
		}
	default:
		asHost(mode, args)
	}
	fmt.Fprintf(os.Stderr, "no mode %q\n", mode)
}

func say(line string) { os.Stdout.WriteString(line + "\n") }

func blockSignals() {
	var all unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &all, nil); err != nil {
		panic(err)
	}
}

// Bare system calls.

var readyLine = [...]byte{'r', 'e', 'a', 'd', 'y', '\n'}

//go:nosplit
//go:norace
func ready() {
	syscall.RawSyscall(unix.SYS_WRITE, 1, readyAddress, uintptr(len(readyLine)))
}

//go:nosplit
//go:norace
func fork() uintptr {
	pid, _, _ := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	return pid // -1 is an error
}

//go:nosplit
//go:norace
func pause() {
	for {
		syscall.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
	}
}

//go:nosplit
//go:norace
func exit() {
	for {
		syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
}

//go:nosplit
//go:norace
func setsid() { syscall.RawSyscall(unix.SYS_SETSID, 0, 0, 0) }

// escapeBySession leaves a child in a session of its own.
//
//go:nosplit
//go:norace
func escapeBySession() {
	if fork() == 0 {
		setsid()
		ready()
	}
	pause()
}

// escapeByDoubleFork leaves a grandchild that init adopts.
//
//go:nosplit
//go:norace
func escapeByDoubleFork() {
	if fork() == 0 {
		setsid()
		if fork() != 0 {
			exit()
		}
		ready()
	}
	pause()
}

// stopChildren leaves a stopped child in a session of its own.
//
//go:nosplit
//go:norace
func stopChildren() {
	if fork() == 0 {
		setsid()
		ready()
		pid, _, _ := syscall.RawSyscall(unix.SYS_GETPID, 0, 0, 0)
		for {
			syscall.RawSyscall(unix.SYS_KILL, pid, uintptr(unix.SIGSTOP), 0)
		}
	}
	pause()
}

// hop leaves a chain of processes: each forks and exits at once, for ever.
//
//go:nosplit
//go:norace
func hop() {
	if fork() != 0 {
		pause()
	}
	setsid()
	for i := 0; ; i++ {
		if i == 100 {
			ready()
		}
		if fork() != 0 {
			exit()
		}
	}
}

// bomb doubles for some generations, and then everybody forks children that
// exit at once, for ever.
//
//go:nosplit
//go:norace
func bomb(generations int) {
	if fork() != 0 {
		pause()
	}
	setsid()
	for g := 0; g < generations; g++ {
		fork()
	}
	ready()
	for {
		if fork() == 0 {
			exit()
		}
		syscall.RawSyscall6(unix.SYS_WAIT4, ^uintptr(0), 0, 0, 0, 0, 0)
	}
}

// makeZombies leaves children that have ended and are never reaped.
//
//go:nosplit
//go:norace
func makeZombies(n int) {
	for i := 0; i < n; i++ {
		if fork() == 0 {
			exit()
		}
	}
	ready()
	pause()
}

// many leaves n children, or as many as it may have: a fork that is refused is
// tried again for a while.
//
//go:nosplit
//go:norace
func many(n int) {
	for i, tries := 0, 0; i < n && tries < 1000; {
		switch pid := fork(); {
		case pid == 0:
			pause()
		case int(pid) > 0:
			i++
		default:
			tries++
		}
	}
	ready()
	pause()
}

// Programs that meddle with their cgroup, which an unconfined one can.

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}

// nest moves itself into a cgroup some levels below its own, with a relative
// path, for the absolute one may be longer than a path can be.
func nest(leaf string, levels int) {
	must(os.Chdir(leaf))
	for range levels {
		must(os.Mkdir("a-cgroup-of-the-payload", 0o755))
		must(os.Mkdir("its-sibling", 0o755))
		must(os.Chdir("a-cgroup-of-the-payload"))
	}
	must(os.WriteFile("cgroup.procs", []byte("0"), 0))
	say("ready")
	pause()
}

// thread puts its second thread into a threaded cgroup below its own.
func thread(leaf string) {
	below := filepath.Join(leaf, "threads")
	must(os.Mkdir(below, 0o755))
	must(os.WriteFile(filepath.Join(below, "cgroup.type"), []byte("threaded"), 0))
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		must(os.WriteFile(filepath.Join(below, "cgroup.threads"), []byte(strconv.Itoa(unix.Gettid())), 0))
		close(done)
		pause()
	}()
	<-done
	say("ready")
	pause()
}

// freeze freezes its own cgroup, and so never says anything more.
func freeze(leaf string) {
	say("ready")
	os.WriteFile(filepath.Join(leaf, "cgroup.freeze"), []byte("1"), 0)
	pause()
}

// lock takes everybody's rights to its cgroup away, and to one below it.
func lock(leaf string) {
	below := filepath.Join(leaf, "below")
	os.Chmod(leaf, 0o755)
	os.Mkdir(below, 0o755)
	for _, file := range []string{"cgroup.procs", "cgroup.events", "cgroup.kill", "cgroup.freeze"} {
		os.Chmod(filepath.Join(leaf, file), 0)
		os.Chmod(filepath.Join(below, file), 0)
	}
	os.Chmod(below, 0)
	os.Chmod(leaf, 0)
}
