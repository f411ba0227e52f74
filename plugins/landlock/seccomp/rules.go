package seccomp

// An answer is what a call that matches a rule gets: a Linux errno (as data,
// since package syscall has the numbers of the running system), or allow.
type answer uint16

const (
	allow           answer = 0
	eperm           answer = 1
	enoent          answer = 2
	eacces          answer = 13
	enosys          answer = 38
	eprotonosupport answer = 93
	eopnotsupp      answer = 95
)

var answerNames = map[answer]string{
	allow: "allow", eperm: "EPERM", enoent: "ENOENT", eacces: "EACCES", enosys: "ENOSYS",
	eprotonosupport: "EPROTONOSUPPORT", eopnotsupp: "EOPNOTSUPP",
}

// A constant is a number of the kernel's interface with its name.
type constant struct {
	name  string
	value uint32
}

// A condition holds if the low 32 bits of an argument, or the high ones, masked,
// are among the values, or are not, if except is set.
type condition struct {
	arg    int
	high   bool
	name   string
	mask   constant // the zero mask means all bits
	values []constant
	except bool
}

// A rule answers the calls of one name for which all conditions hold. Rules of
// the same call are tried in order, the first that matches decides, and a call
// that none matches is allowed.
type rule struct {
	topic  string
	call   string
	when   []condition
	answer answer
}

// always are rules without conditions.
func always(topic string, a answer, names ...string) []rule {
	rules := make([]rule, len(names))
	for i, name := range names {
		rules[i] = rule{topic: topic, call: name, answer: a}
	}
	return rules
}

// oneOf holds if the argument is one of the values.
func oneOf(arg int, name string, values ...constant) condition {
	return condition{arg: arg, name: name, values: values}
}

// anyBit holds if the argument has a bit of the mask.
func anyBit(arg int, name string, mask constant) condition {
	return condition{arg: arg, name: name, mask: mask, values: []constant{{"0", 0}}, except: true}
}

// notZero holds if the argument is not 0. A process id of 0 means the caller; a
// caller that gives its own id is taken for any other.
func notZero(arg int, name string) condition {
	return condition{arg: arg, name: name, values: []constant{{"0", 0}}, except: true}
}

// upper is the same condition on the high half. A pointer is not null if one of
// its halves is not 0.
func upper(c condition) condition {
	c.high = true
	return c
}

// Values of <linux/sched.h>, <asm-generic/ioctls.h> and <asm-generic/fcntl.h>,
// the same on both architectures.
var (
	// CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET.
	// CLONE_NEWTIME lies in the byte that clone(2) takes the exit signal from.
	cloneNamespaces = constant{"CLONE_NEW*", 0x7e020000}
	// unshare(2) has bits of its own, such as UNSHARE_EMPTY_MNTNS, so what it
	// may do is listed rather than what it may not.
	notUnshareable = constant{"~(CLONE_FS|CLONE_FILES|CLONE_SYSVSEM)", ^uint32(0x200 | 0x400 | 0x40000)}

	tiocsti   = constant{"TIOCSTI", 0x5412}
	tioclinux = constant{"TIOCLINUX", 0x541c}

	truncAndAccess = constant{"(O_TRUNC|O_ACCMODE)", 0x200 | 3}
	readTrunc      = constant{"O_TRUNC|O_RDONLY", 0x200}
	// The access mode 3 asks for a descriptor that can neither be read nor
	// written (open(2)), which Landlock lets anybody have.
	neitherTrunc = constant{"O_TRUNC|O_ACCMODE", 0x200 | 3}
)

// closedGroups are the rules of each group, in the order of the groups.
var closedGroups = [][]rule{
	// A kernel without io_uring says ENOSYS: libuv, for one, then uses threads.
	always("io-uring", enosys, "io_uring_setup", "io_uring_enter", "io_uring_register"),

	append(always("tracing", eperm, "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise",
		"pidfd_getfd", "kcmp"),
		rule{"tracing", "migrate_pages", []condition{notZero(0, "pid")}, eperm},
		rule{"tracing", "move_pages", []condition{notZero(0, "pid")}, eperm}),

	always("mounts", eperm, "mount", "umount2", "pivot_root", "chroot", "open_tree", "open_tree_attr",
		"move_mount", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr"),

	{
		{"namespaces", "clone3", nil, enosys},
		{"namespaces", "clone", []condition{anyBit(0, "flags", cloneNamespaces)}, eperm},
		{"namespaces", "unshare", []condition{anyBit(0, "flags", notUnshareable)}, eperm},
		{"namespaces", "setns", nil, eperm},
	},

	// adjtimex and clock_adjtime read the clock's state too, but what they are
	// to do is in memory.
	always("kernel", eperm, "bpf", "perf_event_open", "userfaultfd",
		"init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot",
		"swapon", "swapoff", "acct", "quotactl", "quotactl_fd", "open_by_handle_at", "fanotify_init",
		"iopl", "ioperm", "settimeofday", "clock_settime", "adjtimex", "clock_adjtime",
		"sethostname", "setdomainname", "syslog", "vhangup"),

	always("keyrings", eperm, "add_key", "request_key", "keyctl"),

	{{"terminal", "ioctl", []condition{oneOf(1, "cmd", tiocsti, tioclinux)}, eperm}},

	// The calls that take an identifier are closed as well: identifiers are
	// small numbers, and /proc/sysvipc lists them.
	always("ipc", eacces, "shmget", "shmat", "shmctl", "semget", "semop", "semtimedop", "semctl",
		"msgget", "msgsnd", "msgrcv", "msgctl", "mq_open", "mq_unlink"),

	// Without new limits the call reads the old ones.
	{
		{"limits", "prlimit64", []condition{notZero(0, "pid"), notZero(2, "new_limit")}, eperm},
		{"limits", "prlimit64", []condition{notZero(0, "pid"), upper(notZero(2, "new_limit"))}, eperm},
	},
}

// truncateRules are those of Options.CloseTruncate.
func truncateRules() []rule {
	truncates := func(arg int) []condition {
		return []condition{{arg: arg, name: "flags", mask: truncAndAccess, values: []constant{readTrunc, neitherTrunc}}}
	}
	return []rule{
		{"truncate", "truncate", nil, eacces},
		{"truncate", "open", truncates(1), eacces},
		{"truncate", "openat", truncates(2), eacces},
		{"truncate", "openat2", nil, enosys},
	}
}

// rulesFor lists the rules of resolved options, those of calls that the
// architecture lacks left out.
func rulesFor(o Options) []rule {
	var all []rule
	for i, group := range closedGroups {
		if o.Leave&(1<<i) == 0 {
			all = append(all, group...)
		}
	}
	if o.CloseTruncate {
		all = append(all, truncateRules()...)
	}
	all = append(all, socketRules(o)...)

	number := machines[o.Arch].number
	rules := all[:0]
	for _, r := range all {
		if number(callsByName[r.call]) != absent {
			rules = append(rules, r)
		}
	}
	return rules
}
