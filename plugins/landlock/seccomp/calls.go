package seccomp

// A machine is what a filter must know of an architecture.
type machine struct {
	// audit is the value of seccomp_data.arch: AUDIT_ARCH_* of <linux/audit.h>.
	audit     uint32
	auditName string
	// number picks the architecture's number out of a call.
	number func(call) int
}

var machines = map[Arch]machine{
	AMD64: {0xc000003e, "AUDIT_ARCH_X86_64", func(c call) int { return c.amd64 }},
	ARM64: {0xc00000b7, "AUDIT_ARCH_AARCH64", func(c call) int { return c.arm64 }},
}

// newestCall is the highest number of a system call that the rules were written
// with knowledge of: rseq_slice_yield, Linux 7.0. Since Linux 5.1 new calls get
// the same number everywhere. Who raises it has read what the new calls do.
const newestCall = 471

// absent is the number of a call that an architecture does not have.
const absent = -1

// A call is a system call and its numbers, from arch/x86/entry/syscalls/
// syscall_64.tbl and scripts/syscall.tbl of Linux 7.0. They are data, and not
// constants of golang.org/x/sys/unix, because those exist for the running
// architecture alone; a test compares the two.
type call struct {
	name         string
	amd64, arm64 int
}

var calls = []call{
	{"acct", 163, 89},
	{"add_key", 248, 217},
	{"adjtimex", 159, 171},
	{"bind", 49, 200},
	{"bpf", 321, 280},
	{"chroot", 161, 51},
	{"clock_adjtime", 305, 266},
	{"clock_settime", 227, 112},
	{"clone", 56, 220},
	{"clone3", 435, 435},
	{"connect", 42, 203},
	{"delete_module", 176, 106},
	{"fanotify_init", 300, 262},
	{"finit_module", 313, 273},
	{"fsconfig", 431, 431},
	{"fsmount", 432, 432},
	{"fsopen", 430, 430},
	{"fspick", 433, 433},
	{"init_module", 175, 105},
	{"io_uring_enter", 426, 426},
	{"io_uring_register", 427, 427},
	{"io_uring_setup", 425, 425},
	{"ioctl", 16, 29},
	{"ioperm", 173, absent},
	{"iopl", 172, absent},
	{"kcmp", 312, 272},
	{"kexec_file_load", 320, 294},
	{"kexec_load", 246, 104},
	{"keyctl", 250, 219},
	{"listen", 50, 201},
	{"migrate_pages", 256, 238},
	{"mount", 165, 40},
	{"mount_setattr", 442, 442},
	{"move_mount", 429, 429},
	{"move_pages", 279, 239},
	{"mq_open", 240, 180},
	{"mq_unlink", 241, 181},
	{"msgctl", 71, 187},
	{"msgget", 68, 186},
	{"msgrcv", 70, 188},
	{"msgsnd", 69, 189},
	{"open", 2, absent},
	{"open_by_handle_at", 304, 265},
	{"open_tree", 428, 428},
	{"open_tree_attr", 467, 467},
	{"openat", 257, 56},
	{"openat2", 437, 437},
	{"perf_event_open", 298, 241},
	{"pidfd_getfd", 438, 438},
	{"pivot_root", 155, 41},
	{"prlimit64", 302, 261},
	{"process_madvise", 440, 440},
	{"process_vm_readv", 310, 270},
	{"process_vm_writev", 311, 271},
	{"ptrace", 101, 117},
	{"quotactl", 179, 60},
	{"quotactl_fd", 443, 443},
	{"reboot", 169, 142},
	{"request_key", 249, 218},
	{"semctl", 66, 191},
	{"semget", 64, 190},
	{"semop", 65, 193},
	{"semtimedop", 220, 192},
	{"sendmmsg", 307, 269},
	{"sendmsg", 46, 211},
	{"sendto", 44, 206},
	{"setdomainname", 171, 162},
	{"sethostname", 170, 161},
	{"setns", 308, 268},
	{"setsockopt", 54, 208},
	{"settimeofday", 164, 170},
	{"shmat", 30, 196},
	{"shmctl", 31, 195},
	{"shmget", 29, 194},
	{"socket", 41, 198},
	{"socketpair", 53, 199},
	{"swapoff", 168, 225},
	{"swapon", 167, 224},
	{"syslog", 103, 116},
	{"truncate", 76, 45},
	{"umount2", 166, 39},
	{"unshare", 272, 97},
	{"userfaultfd", 323, 282},
	{"vhangup", 153, 58},
}

var callsByName = func() map[string]call {
	m := make(map[string]call, len(calls))
	for _, c := range calls {
		m[c.name] = c
	}
	return m
}()
