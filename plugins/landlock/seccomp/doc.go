// Package seccomp builds the seccomp filter that closes what Landlock leaves
// open: socket families, io_uring, tracing, mounts, namespaces, the kernel's
// administrative calls and injection into the terminal.
//
// [Compile] turns [Options] into a classic BPF program for seccomp(2). It is a
// pure function: the same options give the same program on every machine, so a
// filter for arm64 can be compiled, read and tested on amd64. [Listing] gives
// the same rules as text. Installing the program is the launcher's business.
//
// # What the filter is
//
// A deny list: what no rule names is let through. Three rules hold in every
// filter, because without them a deny list is none.
//
//   - Calls of another architecture (int 0x80 on amd64, AArch32 on arm64) are
//     answered ENOSYS. They have numbers and argument layouts of their own,
//     among them socketcall(2), whose arguments no filter can read.
//   - Calls of the x32 ABI, which share amd64's architecture value and differ
//     by a bit in the number, are answered ENOSYS.
//   - Calls newer than this package's table are answered ENOSYS. A kernel can
//     then not grow a new way to make a socket or a mount behind the filter's
//     back. C libraries take ENOSYS for an older kernel and fall back.
//
// A filter sees the values in registers and never what a pointer points to.
// Hence clone3(2), whose flags are in memory, is answered ENOSYS, on which
// C libraries fall back to clone(2), whose flags can be read; and io_uring
// must be closed whenever sockets are, since its operations pass no filter.
//
// Every number that the rules look at is an int or unsigned int to the kernel,
// which drops the upper half of the register: socket's domain, type and protocol,
// ioctl's command, send's flags, open's flags, process ids and, by
// lower_32_bits(), clone's flags. The rules compare the low 32 bits alone, so that
// garbage in the upper half changes nothing (CVE-2019-10063 was such a bug). Of
// prlimit's new limits they ask whether the pointer is null, in both halves.
//
// # Answers
//
// Calls fail with an errno; nothing is killed. EPERM is what an unprivileged
// process gets for administrative calls, EACCES what socket(2) documents for a
// family that policy denies, ENOSYS, EPROTONOSUPPORT, EOPNOTSUPP and ENOENT
// what a kernel built without the thing says, where programs have a fallback.
//
// # What it does not do
//
//   - Descriptors that the process already holds stay usable. A datagram or an
//     unconnected socket handed over as standard input is a way out; the
//     launcher closes every other descriptor.
//   - memfd_create(2) followed by execve(2) runs code from memory.
//   - A filter added later from inside can only take away more: the kernel runs
//     all filters and obeys the most restrictive answer, and ERRNO outranks
//     USER_NOTIF, TRACE and ALLOW. So seccomp(2) itself, NEW_LISTENER included,
//     stays open, and browsers can nest their own sandbox.
//   - Signals and metadata of files (chmod, chown, utime, xattr) are not
//     filtered: the arguments do not tell whose they are.
//   - Scheduling is not filtered: sched_setaffinity, sched_setscheduler,
//     sched_setparam, sched_setattr, setpriority and ioprio_set. Thread libraries
//     name their own threads by id in these calls (pthread_setaffinity_np,
//     pthread_setschedparam, the priorities of Java), and such an id looks like
//     that of any process of the same user, which so can be slowed down.
//
// # Cost
//
// The program decides by a binary search over the call's number, and calls
// whose arguments do not matter reach "allow" without reading any argument.
// Linux 5.11 and later proves that at installation and then skips the filter
// for them altogether (kernel/seccomp.c, seccomp_is_const_allow).
package seccomp
