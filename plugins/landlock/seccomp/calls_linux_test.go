package seccomp

import (
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

var (
	nowhere = cString("/nonexistent-pinfold-test/x")
	noName  = cString("nonexistent-pinfold-test")
	empty   = cString("")
)

func cString(s string) uintptr {
	b := append([]byte(s), 0)
	kept = append(kept, b)
	return uintptr(unsafe.Pointer(&b[0]))
}

// kept keeps the strings alive that probes name by address.
var kept [][]byte

const (
	bad    = ^uintptr(0)      // a descriptor, an address, a set of flags
	nobody = uintptr(1 << 30) // a process id above PID_MAX_LIMIT
)

// A probe is a call that does nothing even where nobody stops it: its arguments
// are wrong, so that a kernel without the filter answers with some other errno.
type probe struct {
	call string
	args []uintptr
}

// probes has one for each call that is closed without conditions.
var probes = []probe{
	{"io_uring_setup", []uintptr{0, 0}},
	{"io_uring_enter", []uintptr{bad, 0, 0, 0}},
	{"io_uring_register", []uintptr{bad, 0, 0, 0}},

	{"ptrace", []uintptr{unix.PTRACE_PEEKDATA, nobody, 0, 0}},
	{"process_vm_readv", []uintptr{nobody, 0, 0, 0, 0, 0}},
	{"process_vm_writev", []uintptr{nobody, 0, 0, 0, 0, 0}},
	{"process_madvise", []uintptr{bad, 0, 0, 0, 0}},
	{"pidfd_getfd", []uintptr{bad, 0, 0}},
	{"kcmp", []uintptr{nobody, nobody, 0, 0, 0}},

	{"mount", []uintptr{empty, nowhere, noName, 0, 0}},
	{"umount2", []uintptr{nowhere, 0}},
	{"pivot_root", []uintptr{nowhere, nowhere}},
	{"chroot", []uintptr{nowhere}},
	{"open_tree", []uintptr{bad, nowhere, 0}},
	{"open_tree_attr", []uintptr{bad, nowhere, 0, 0, 0}},
	{"move_mount", []uintptr{bad, nowhere, bad, nowhere, 0}},
	{"fsopen", []uintptr{noName, 0}},
	{"fsconfig", []uintptr{bad, 0, 0, 0, 0}},
	{"fsmount", []uintptr{bad, 0, 0}},
	{"fspick", []uintptr{bad, nowhere, 0}},
	{"mount_setattr", []uintptr{bad, nowhere, 0, 0, 0}},

	{"clone3", []uintptr{0, 0}},
	{"setns", []uintptr{bad, 0}},

	{"bpf", []uintptr{bad, 0, 0}},
	{"perf_event_open", []uintptr{0, 0, 0, bad, 0}},
	{"userfaultfd", []uintptr{bad}},
	{"init_module", []uintptr{0, 0, 0}},
	{"finit_module", []uintptr{bad, 0, 0}},
	{"delete_module", []uintptr{noName, 0}},
	{"kexec_load", []uintptr{0, 1 << 20, 0, 0}}, // no segments at all would unload
	{"kexec_file_load", []uintptr{bad, bad, 0, 0, bad}},
	{"reboot", []uintptr{0, 0, 0, 0}},
	{"swapon", []uintptr{nowhere, 0}},
	{"swapoff", []uintptr{nowhere}},
	{"acct", []uintptr{nowhere}},
	{"quotactl", []uintptr{bad, 0, 0, 0}},
	{"quotactl_fd", []uintptr{bad, bad, 0, 0}},
	{"open_by_handle_at", []uintptr{bad, 0, 0}},
	{"fanotify_init", []uintptr{bad, 0}},
	{"iopl", []uintptr{9}},
	{"ioperm", []uintptr{bad, 2, 0}},
	{"settimeofday", []uintptr{bad, 0}},
	{"clock_settime", []uintptr{99, 0}},
	{"adjtimex", []uintptr{0}},
	{"clock_adjtime", []uintptr{99, 0}},
	{"sethostname", []uintptr{0, bad}},
	{"setdomainname", []uintptr{0, bad}},
	{"syslog", []uintptr{99, 0, 0}},
	{"vhangup", nil}, // the child has no terminal to hang up

	{"add_key", []uintptr{0, 0, 0, 0, 0}},
	{"request_key", []uintptr{0, 0, 0, 0}},
	{"keyctl", []uintptr{9999}},

	{"shmget", []uintptr{0x70696e66, 1, 0}},
	{"shmat", []uintptr{bad, 0, 0}},
	{"shmctl", []uintptr{bad, 9999, 0}},
	{"semget", []uintptr{0x70696e66, 1, 0}},
	{"semop", []uintptr{bad, 0, 0}},
	{"semtimedop", []uintptr{bad, 0, 0, 0}},
	{"semctl", []uintptr{bad, 0, 9999}},
	{"msgget", []uintptr{0x70696e66, 0}},
	{"msgsnd", []uintptr{bad, 0, 0, 0}},
	{"msgrcv", []uintptr{bad, 0, 0, 0, 0}},
	{"msgctl", []uintptr{bad, 9999, 0}},
	{"mq_open", []uintptr{noName, 0, 0, 0}},
	{"mq_unlink", []uintptr{noName}},
}

func init() {
	tasks["closed calls"] = func([]string) results {
		r := make(results)
		for _, p := range probes {
			if machines[Arch(runtime.GOARCH)].number(callsByName[p.call]) == absent {
				continue
			}
			_, errno := rawCall(p.call, p.args...)
			r[p.call] = result(errno)
		}
		return r
	}
}

// TestClosedCalls tries every call that a group closes altogether, without the
// filter, with it, and with it but the group left open.
func TestClosedCalls(t *testing.T) {
	control, confined := bothWays(t, Options{}, "closed calls")
	left := inChild(t, job{Task: "closed calls", Options: Options{
		Network: NetworkUnfiltered, Unix: UnixOpen, Leave: groupEnd - 1}})
	for _, r := range rulesFor(Options{Arch: Arch(runtime.GOARCH)}) {
		if len(r.when) > 0 || r.topic == "sockets" {
			continue
		}
		t.Run(r.topic+"/"+r.call, func(t *testing.T) {
			got, ok := confined[r.call]
			if !ok {
				t.Fatal("no probe")
			}
			want := answerNames[r.answer]
			if got != want {
				t.Errorf("answered %s, want %s", got, want)
			}
			if left[r.call] != control[r.call] {
				t.Errorf("left open it is answered %s, without a filter %s", left[r.call], control[r.call])
			}
			if control[r.call] == want {
				t.Skipf("proves nothing here: %s without a filter, too", want)
			}
			t.Logf("without a filter %s", control[r.call])
		})
	}
}

func init() {
	tasks["conditional calls"] = func([]string) results {
		r := make(results)
		try := func(name, call string, args ...uintptr) {
			_, errno := rawCall(call, args...)
			r[name] = result(errno)
		}
		// CLONE_THREAD without CLONE_SIGHAND is always wrong: no clone is born.
		for _, f := range []struct {
			name string
			flag uintptr
		}{{"newns", unix.CLONE_NEWNS}, {"newcgroup", unix.CLONE_NEWCGROUP}, {"newuts", unix.CLONE_NEWUTS},
			{"newipc", unix.CLONE_NEWIPC}, {"newuser", unix.CLONE_NEWUSER}, {"newpid", unix.CLONE_NEWPID},
			{"newnet", unix.CLONE_NEWNET}} {
			try("clone "+f.name, "clone", unix.CLONE_THREAD|f.flag)
			// A flag that no namespace understands beside it: EINVAL unfiltered.
			try("unshare "+f.name, "unshare", f.flag|1)
		}
		try("clone upper half", "clone", unix.CLONE_THREAD|unix.CLONE_NEWUTS|1<<40)
		try("clone", "clone", unix.CLONE_THREAD)
		try("unshare newtime", "unshare", unix.CLONE_NEWTIME|1)
		try("unshare bit of a later kernel", "unshare", 1<<20|1)
		try("unshare uts for real", "unshare", unix.CLONE_NEWUTS)
		try("unshare fs", "unshare", unix.CLONE_FS)

		// No process has this id: ESRCH unfiltered. The last pointer has nothing in
		// its lower half.
		var limit unix.Rlimit
		at := uintptr(unsafe.Pointer(&limit))
		try("prlimit of another", "prlimit64", nobody, unix.RLIMIT_CPU, at, 0)
		try("prlimit of another and read", "prlimit64", nobody, unix.RLIMIT_CPU, at, at)
		try("prlimit of another at a round address", "prlimit64", nobody, unix.RLIMIT_CPU, 1<<32, 0)
		try("prlimit read of another", "prlimit64", nobody, unix.RLIMIT_CPU, 0, at)
		try("prlimit read and set", "prlimit64", 0, unix.RLIMIT_CORE, 0, at)
		try("prlimit set", "prlimit64", 1<<32, unix.RLIMIT_CORE, at, 0)
		try("migrate_pages of another", "migrate_pages", nobody, 0, 0, 0)
		try("move_pages of another", "move_pages", nobody, 0, 0, 0, 0, 0)
		try("migrate_pages", "migrate_pages", 0, 0, 0, 0)
		try("move_pages", "move_pages", 0, 0, 0, 0, 0, 0)

		terminal, err := controllingTerminal()
		if err != nil {
			r["pty"] = result(err)
			return r
		}
		letter := []byte("x")
		address := uintptr(unsafe.Pointer(&letter[0]))
		var size unix.Winsize
		try("TIOCSTI", "ioctl", terminal, unix.TIOCSTI, address)
		try("TIOCSTI upper half", "ioctl", terminal, unix.TIOCSTI|1<<32, address)
		try("TIOCSTI upper half and sign", "ioctl", terminal, unix.TIOCSTI|0xffffffff<<32, address)
		try("TIOCLINUX", "ioctl", terminal, 0x541c, address)
		try("TIOCGWINSZ", "ioctl", terminal, unix.TIOCGWINSZ, uintptr(unsafe.Pointer(&size)))
		runtime.KeepAlive(letter)
		return r
	}
}

// controllingTerminal gives the calling session a terminal, on which typing is
// anybody's right where the kernel has TIOCSTI at all. It stays open until the
// process ends.
func controllingTerminal() (uintptr, error) {
	master, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	if err := unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
		return 0, err
	}
	slave, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(master), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
	if errno != 0 {
		return 0, errno
	}
	return slave, unix.IoctlSetInt(int(slave), unix.TIOCSCTTY, 0)
}

// TestConditionalCalls tries the calls that are closed for some arguments only.
func TestConditionalCalls(t *testing.T) {
	control, confined := bothWays(t, Options{}, "conditional calls")
	if control["pty"] != "" {
		t.Logf("no pseudo terminal: %s", control["pty"])
	}
	open := map[string]bool{"clone": true, "unshare fs": true, "TIOCGWINSZ": true, "prlimit read of another": true,
		"prlimit read and set": true, "prlimit set": true, "migrate_pages": true, "move_pages": true}
	for name, got := range confined {
		t.Run(name, func(t *testing.T) {
			switch {
			case open[name]:
				if got != control[name] {
					t.Errorf("answered %s, without a filter %s", got, control[name])
				}
			case got != "EPERM":
				t.Errorf("answered %s, want EPERM", got)
			case control[name] == "EPERM":
				t.Skip("proves nothing here: EPERM without a filter, too")
			}
			t.Logf("without a filter %s", control[name])
		})
	}
	if len(confined) < 20 && control["pty"] == "" {
		t.Errorf("too few results: %v", confined)
	}
}

// TestTableAgainstHeaders compares the table's numbers of the running
// architecture with those of golang.org/x/sys/unix.
func TestTableAgainstHeaders(t *testing.T) {
	m, ok := machines[Arch(runtime.GOARCH)]
	if !ok {
		t.Skipf("no table for %s", runtime.GOARCH)
	}
	if newestCall != unix.SYS_RSEQ_SLICE_YIELD {
		t.Errorf("newest call is %d", newestCall)
	}
	for _, c := range calls {
		want, ok := headerNumbers[c.name]
		if !ok {
			want = absent
		}
		if got := m.number(c); got != want {
			t.Errorf("%s is %d in the table, %d in the headers", c.name, got, want)
		}
	}
}
