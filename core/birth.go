package core

import "os"

// A Birth is the set of kernel attributes a process is born with. A tracker
// contributes the part that makes the process a member of its session, a
// confiner the part that confines it; the host merges the two, applies them in
// the order the kernel dictates, and only then executes the command.
//
// Plugins never apply a Birth: they make the kernel objects it refers to, and
// the host's child applies them to itself between clone and execve. Everything
// in it is therefore data, and every field means a fixed short sequence of
// system calls (see the package documentation of host/birth).
//
// A Birth holds open files. Whoever received it from a backend owns them and
// releases them with [Birth.Close]. The zero Birth asks for nothing.
type Birth struct {
	// Cgroup is a directory of the cgroup v2 filesystem that the process is
	// cloned into (clone3(2), CLONE_INTO_CGROUP, Linux 5.7), or nil.
	Cgroup *os.File

	// Namespaces are created for the process (unshare(2), clone3(2)).
	Namespaces Namespaces

	// Mounts are made in order inside the process's own mount namespace. They
	// need NamespaceMount, and come before Landlock, which forbids them.
	Mounts []Mount

	// Limits are resource limits (prlimit(2)).
	Limits []ResourceLimit

	// DropCapabilities is the set of capabilities that are taken from the process
	// for good: bit n is capability n of capabilities(7). They are removed from its
	// permitted, effective, inheritable, ambient and bounding sets, after the mounts
	// and the limits, which may need them, and before no_new_privs. With a new user
	// namespace these are the sets that the process has in there.
	//
	// Bits of capabilities that the kernel does not know, or that the process does
	// not have, change nothing: ^keep leaves it no more than keep on every kernel.
	//
	// The kernel changes a bounding set for CAP_SETPCAP alone. A process without it
	// keeps its bounding set if it has no_new_privs, under which no execve(2) gives
	// anything out of it; without no_new_privs the launch fails.
	DropCapabilities uint64

	// NoNewPrivileges sets no_new_privs (prctl(2)). Landlock and Seccomp need
	// it, unless the process keeps CAP_SYS_ADMIN.
	NoNewPrivileges bool

	// Landlock are rulesets to restrict the process with, in order, each a new
	// layer (landlock_restrict_self(2), Linux 5.13, at most 16 layers).
	Landlock []LandlockRuleset

	// Seccomp are filters to install, in order, after everything else. A
	// filter must let write, exit_group and execve through, or the launch
	// could neither proceed nor say why it did not.
	Seccomp []SeccompFilter
}

// Namespaces is a set of Linux namespace kinds.
type Namespaces uint32

// The namespace kinds a Birth can ask for (namespaces(7)).
const (
	NamespaceUser Namespaces = 1 << iota
	NamespaceMount
	NamespacePID
	NamespaceIPC
	NamespaceNetwork
)

// AllNamespaces is every kind of namespace there is.
const AllNamespaces = NamespaceUser | NamespaceMount | NamespacePID | NamespaceIPC | NamespaceNetwork

// MountKind says what a Mount puts in place.
type MountKind int

// The kinds of mount.
const (
	// MountBind makes Source visible at Target, with its sub-mounts.
	MountBind MountKind = iota + 1
	// MountEmpty hides Target behind an empty node of the same type, a
	// directory or a file, that nobody has permission to use.
	MountEmpty
	// MountProc is a fresh proc filesystem, for a new PID namespace.
	MountProc
)

// A Mount is one change of the process's private view of the filesystem.
type Mount struct {
	Kind MountKind
	// Source is the absolute path that MountBind shows; unused otherwise.
	Source string
	// Target is an absolute path free of symbolic links. The launch fails if a
	// component of it turned into one.
	Target string
	// ReadOnly makes the mount, and what is mounted below it, read-only.
	ReadOnly bool
}

// Resource names a resource limit of setrlimit(2).
type Resource int

// The resources a Birth can limit.
const (
	ResourceCore         Resource = iota + 1 // RLIMIT_CORE, bytes
	ResourceCPU                              // RLIMIT_CPU, seconds
	ResourceFileSize                         // RLIMIT_FSIZE, bytes
	ResourceOpenFiles                        // RLIMIT_NOFILE, descriptors
	ResourceProcesses                        // RLIMIT_NPROC, processes of the real uid
	ResourceAddressSpace                     // RLIMIT_AS, bytes
)

// A ResourceLimit bounds one resource of the process and its descendants.
type ResourceLimit struct {
	Resource Resource
	Soft     uint64
	Hard     uint64
}

// A LandlockRuleset is an open ruleset and the flags to enforce it with.
type LandlockRuleset struct {
	// File is the descriptor that landlock_create_ruleset(2) returned.
	File *os.File
	// Flags are landlock_restrict_self(2)'s.
	Flags uint32
}

// A SeccompFilter is a classic BPF program for seccomp(2), SECCOMP_SET_MODE_FILTER.
type SeccompFilter struct {
	// Program has 1 to 4096 instructions (BPF_MAXINSNS).
	Program []BPFInstruction
}

// A BPFInstruction is struct sock_filter of <linux/filter.h>.
type BPFInstruction struct {
	Code   uint16
	JT, JF uint8
	K      uint32
}

// Close closes the files that the Birth holds. It may be called on a nil Birth
// and more than once.
func (b *Birth) Close() error {
	if b == nil {
		return nil
	}
	if b.Cgroup != nil {
		b.Cgroup.Close()
		b.Cgroup = nil
	}
	for i := range b.Landlock {
		if f := b.Landlock[i].File; f != nil {
			f.Close()
			b.Landlock[i].File = nil
		}
	}
	return nil
}
