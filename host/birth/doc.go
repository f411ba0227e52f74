// Package birth starts a command with the kernel attributes of a [core.Birth].
//
// On Linux (amd64, arm64) the two are compiled into a birth program: a flat list
// of system calls with all their arguments, prepared by the parent, that a
// vfork-ed child makes one after the other. The last is execve. The child is a
// loop of a few instructions in assembly that knows nothing but "make the next
// call, or leave the errno and end": no Go code runs in it, it touches no stack
// and allocates nothing. An [Error] names the step that failed.
//
// What each field of a Birth becomes, in the order of the program:
//
//   - Cgroup, NamespaceUser, NamespacePID: flags of clone3
//   - the identity maps of the user namespace
//   - the session, the controlling terminal, the process group
//   - the descriptors, each to its place
//   - the other Namespaces (unshare), then Mounts
//   - Limits, the working directory
//   - DropCapabilities
//   - NoNewPrivileges, Landlock
//   - every descriptor above the declared ones is closed, signals are unblocked
//   - Seccomp
//   - execve
//
// docs/birth.md of this repository says why in this order, and what was
// measured. It needs Linux 5.9 (close_range), and what a Birth asks for: 5.12
// for a read-only mount, 5.13 for Landlock.
//
// On other systems a command whose Birth asks for nothing is started by package
// os, and everything else is refused.
package birth
