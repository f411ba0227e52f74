package seccomp

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
)

// An Arch is a machine architecture, by its GOARCH name.
type Arch string

// The architectures that filters can be compiled for.
const (
	AMD64 Arch = "amd64"
	ARM64 Arch = "arm64"
)

// A NetworkMode says which socket families, types and protocols can be made.
// Unix sockets are the business of [UnixMode].
type NetworkMode int

// The network modes, from closed to open.
const (
	// NetworkOff lets no socket be made.
	NetworkOff NetworkMode = iota
	// NetworkTCP lets plain TCP sockets be made (AF_INET or AF_INET6,
	// SOCK_STREAM, protocol 0 or IPPROTO_TCP), whose ports Landlock governs.
	// What escapes Landlock's port rules is closed: MPTCP, SMC and every other
	// protocol, TCP fast open, TCP upper layer protocols, and listen(2) unless
	// Options.Listen. Name resolution over UDP does not work in this mode.
	NetworkTCP
	// NetworkAll lets IPv4 and IPv6 sockets of any type be made, and
	// NETLINK_ROUTE ones, which programs read addresses and interfaces from.
	// Packet sockets and all other families stay closed.
	NetworkAll
	// NetworkUnfiltered has no rule on sockets other than unix ones.
	NetworkUnfiltered
)

// String returns the mode's name in listings.
func (m NetworkMode) String() string {
	return nameOf(int(m), "off", "tcp", "all", "unfiltered")
}

// A UnixMode says which sockets of the family AF_UNIX can be made.
type UnixMode int

// The unix socket modes.
const (
	// UnixClosed lets no unix socket be made that could reach a name, in the
	// filesystem or abstract. socketpair(2) stays open for SOCK_STREAM and
	// SOCK_SEQPACKET, whose ends are bound to each other for good. An end of a
	// SOCK_DGRAM pair (or SOCK_RAW, which means the same) can be sent from and
	// connected to any name, and sendmsg(2) takes the name from memory, so
	// those are refused.
	UnixClosed UnixMode = iota
	// UnixOpen has no rule on unix sockets.
	UnixOpen
)

// String returns the mode's name in listings.
func (m UnixMode) String() string { return nameOf(int(m), "closed", "open") }

// A Group is a set of calls that are closed or left open together.
type Group uint

// The groups that Options.Leave can name.
const (
	// GroupIOUring is io_uring(7): its operations pass no seccomp filter.
	GroupIOUring Group = 1 << iota
	// GroupTracing is reading, writing and controlling other processes:
	// ptrace, process_vm_readv and _writev, process_madvise, pidfd_getfd, kcmp,
	// and moving their memory between nodes.
	GroupTracing
	// GroupMounts is changing the tree of mounts and the root directory.
	GroupMounts
	// GroupNamespaces is making and entering namespaces. It closes clone3(2),
	// and of clone(2) and unshare(2) what concerns namespaces.
	GroupNamespaces
	// GroupKernel is the administration of the machine: modules, kexec, reboot,
	// swap, clock, host name, log, and the entry points that kernel exploits
	// favour (bpf, perf_event_open, userfaultfd).
	GroupKernel
	// GroupKeyrings is keyrings(7), which are shared by all processes of a user.
	GroupKeyrings
	// GroupTerminal is typing into a terminal as if its user did: the ioctls
	// TIOCSTI and TIOCLINUX.
	GroupTerminal
	// GroupIPC is System V shared memory, semaphores and message queues, and
	// the names of POSIX message queues: they are shared by all processes of a
	// user. PostgreSQL and fakeroot need them, for example.
	GroupIPC
	// GroupLimits is setting the resource limits of other processes (prlimit(2)):
	// a process dies of a limit of CPU time that it has used up. Whoever gives its
	// own process id in place of 0 is refused as well; C libraries give 0.
	GroupLimits

	groupEnd
)

var groupNames = []string{"io-uring", "tracing", "mounts", "namespaces", "kernel", "keyrings", "terminal", "ipc", "limits"}

// String returns the names of the groups in g, joined by "+", or "none".
func (g Group) String() string {
	var names []string
	for i, name := range groupNames {
		if g&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	if rest := g &^ (groupEnd - 1); rest != 0 {
		names = append(names, fmt.Sprintf("unknown(%#x)", uint(rest)))
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, "+")
}

// Options says what a filter closes. The zero Options closes everything that
// this package can close, on the running architecture.
type Options struct {
	// Arch is the architecture of the programs to confine; empty means the
	// running one.
	Arch Arch
	// Network says which sockets can be made, unix ones apart.
	Network NetworkMode
	// Unix says which unix sockets can be made.
	Unix UnixMode
	// Listen lets listen(2) through in NetworkTCP, where it is otherwise
	// refused: a socket that listens without having been bound gets a port from
	// the kernel, which Landlock's port rules do not see. The filter can't tell
	// sockets apart, so unix servers need it as well in that mode. The other
	// modes ignore it.
	Listen bool
	// CloseTruncate makes up for Landlock below ABI 3 (Linux 6.2), which lets
	// files be truncated that may only be read. It refuses truncate(2), by
	// path, everywhere (ftruncate(2) needs a descriptor that was opened for
	// writing, which Landlock governs), and open(2) and openat(2) with O_TRUNC
	// but without a right to write; openat2(2), whose flags are in memory, is
	// answered ENOSYS. Programs that truncate a writable file by its path fail.
	CloseTruncate bool
	// Leave names the groups of calls to leave open.
	Leave Group
}

// resolved checks o and fills in the running architecture.
func (o Options) resolved() (Options, error) {
	if o.Arch == "" {
		o.Arch = Arch(runtime.GOARCH)
	}
	if _, ok := machines[o.Arch]; !ok {
		return o, fmt.Errorf("seccomp: no system call table for architecture %q, only for %s and %s: %w",
			o.Arch, AMD64, ARM64, errors.ErrUnsupported)
	}
	if o.Network < NetworkOff || o.Network > NetworkUnfiltered {
		return o, fmt.Errorf("seccomp: unknown network mode %d", int(o.Network))
	}
	if o.Unix < UnixClosed || o.Unix > UnixOpen {
		return o, fmt.Errorf("seccomp: unknown unix socket mode %d", int(o.Unix))
	}
	if unknown := o.Leave &^ (groupEnd - 1); unknown != 0 {
		return o, fmt.Errorf("seccomp: cannot leave open %v", unknown)
	}
	filtersFiles := o.Network != NetworkUnfiltered || o.Unix != UnixOpen || o.CloseTruncate
	if o.Leave&GroupIOUring != 0 && filtersFiles {
		return o, errors.New("seccomp: cannot leave io_uring open while sockets or truncation are closed: " +
			"its operations make sockets and open files without passing the filter")
	}
	return o, nil
}

func nameOf(i int, names ...string) string {
	if i < 0 || i >= len(names) {
		return fmt.Sprintf("unknown(%d)", i)
	}
	return names[i]
}
