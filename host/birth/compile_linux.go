//go:build amd64 || arm64

package birth

import (
	"encoding/binary"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/host/birth/internal/nofile"
)

// A compiler appends the steps of a program. Name and path are those of the
// step being compiled.
type compiler struct {
	*Program
	name, path string
	// rulesets are the Landlock rulesets as the child sees them.
	rulesets []arg
}

// compile puts the steps in the order that the kernel dictates; docs/birth.md
// says why.
func compile(c *Command, b *core.Birth) (*Program, error) {
	p := &compiler{Program: &Program{command: c, birth: b, steps: make([]step, 0, 24)}}
	p.clone()
	p.identity()
	p.session()
	p.descriptors()
	p.namespaces()
	if err := p.mounts(); err != nil {
		return nil, err
	}
	if err := p.limits(); err != nil {
		return nil, err
	}
	if err := p.directory(); err != nil {
		return nil, err
	}
	if err := p.capabilities(); err != nil {
		return nil, err
	}
	p.landlock()
	p.undeclared()
	p.signals()
	p.seccomp()
	p.at(StepExec, c.Path)
	p.add(sysExecve, str(c.Path), arg{kind: argv}, arg{kind: envp})
	return p.Program, nil
}

// at begins a step.
func (p *compiler) at(name, path string) { p.name, p.path = name, path }

// add appends a call to the step and returns its index, for of and addressOf.
func (p *compiler) add(c call, args ...arg) int {
	p.steps = append(p.steps, step{p.name, p.path, c, args})
	return len(p.steps) - 1
}

// clone sets the flags of clone3. CLONE_CLEAR_SIGHAND (Linux 5.5) takes the
// handlers of the Go runtime away from the child, and leaves what is ignored
// ignored: what the os/exec of the runtime does signal by signal.
func (p *compiler) clone() {
	p.flags = unix.CLONE_VM | unix.CLONE_VFORK | unix.CLONE_PIDFD | unix.CLONE_CLEAR_SIGHAND
	if p.birth.Cgroup != nil {
		p.flags |= unix.CLONE_INTO_CGROUP
	}
	if p.birth.Namespaces&core.NamespaceUser != 0 {
		p.flags |= unix.CLONE_NEWUSER
	}
	if p.birth.Namespaces&core.NamespacePID != 0 {
		p.flags |= unix.CLONE_NEWPID
	}
}

// identity maps the caller's user and group to themselves. Without privilege
// the kernel lets a process map its group only once setgroups is denied
// (user_namespaces(7)).
func (p *compiler) identity() {
	if p.birth.Namespaces&core.NamespaceUser == 0 {
		return
	}
	p.writeFile("/proc/self/setgroups", "deny", `"deny"`)
	p.writeFile("/proc/self/uid_map", identityMap(os.Geteuid()), `"EUID EUID 1"`)
	p.writeFile("/proc/self/gid_map", identityMap(os.Getegid()), `"EGID EGID 1"`)
}

func identityMap(id int) string { return strconv.Itoa(id) + " " + strconv.Itoa(id) + " 1" }

func (p *compiler) writeFile(path, content, shown string) {
	p.at("user namespace", path)
	fd := p.add(sysOpenat, here, str(path), sym(unix.O_WRONLY|unix.O_CLOEXEC, "O_WRONLY|O_CLOEXEC"))
	p.add(sysWrite, of(fd), buf([]byte(content), shown), sym(len(content), "length"))
}

// session acts on the terminals at the numbers they have in the parent, so it
// comes before the descriptors move.
func (p *compiler) session() {
	c := p.command
	if c.Setsid {
		p.at("session", "")
		p.add(sysSetsid)
	}
	if c.ControllingTerminal != nil {
		p.at("controlling terminal", c.ControllingTerminal.Name())
		p.add(sysIoctl, file(c.ControllingTerminal, "terminal"), sym(unix.TIOCSCTTY, "TIOCSCTTY"), num(0))
	}
	if c.Setpgid || c.Foreground != nil {
		p.at("process group", "")
		p.add(sysSetpgid, num(0), num(c.Pgid))
	}
	if c.Foreground != nil {
		p.at("foreground", c.Foreground.Name())
		group := buf(binary.NativeEndian.AppendUint32(nil, uint32(c.Pgid)), "group")
		if c.Pgid == 0 {
			group = addressOf(p.add(sysGetpid))
		}
		p.add(sysIoctl, file(c.Foreground, "terminal"), sym(unix.TIOCSPGRP, "TIOCSPGRP"), group)
	}
}

// descriptors puts every file to its place. A place may be the number at which
// another file still waits for its turn, or a Landlock ruleset: those are moved
// above all places first.
func (p *compiler) descriptors() {
	files := p.command.Files
	sources := make([]arg, len(files))
	for i, f := range files {
		if f == nil {
			continue
		}
		sources[i] = file(f, "file "+strconv.Itoa(i))
		if sources[i].value < uintptr(i) {
			p.at("descriptor "+strconv.Itoa(i), f.Name())
			sources[i] = p.aside(sources[i])
		}
	}
	for i, l := range p.birth.Landlock {
		ruleset := file(l.File, "ruleset "+strconv.Itoa(i))
		if ruleset.value < uintptr(len(files)) {
			p.at("landlock", "")
			ruleset = p.aside(ruleset)
		}
		p.rulesets = append(p.rulesets, ruleset)
	}
	for i, f := range files {
		p.at("descriptor "+strconv.Itoa(i), "")
		switch {
		case f == nil:
			p.add(sysCloseRange, num(i), num(i), num(0))
		case sources[i].kind == number && sources[i].value == uintptr(i):
			p.path = f.Name()
			p.add(sysFcntl, num(i), sym(unix.F_SETFD, "F_SETFD"), num(0))
		default:
			p.path = f.Name()
			p.add(sysDup3, sources[i], num(i), num(0))
		}
	}
}

// aside duplicates a descriptor to a free number above all places.
func (p *compiler) aside(fd arg) arg {
	return of(p.add(sysFcntl, fd, sym(unix.F_DUPFD_CLOEXEC, "F_DUPFD_CLOEXEC"), num(len(p.command.Files))))
}

// namespaces creates those that clone3 did not: one call each, so that a
// refusal names the one that was refused.
func (p *compiler) namespaces() {
	for _, n := range []struct {
		kind  core.Namespaces
		name  string
		flags arg
	}{
		{core.NamespaceIPC, "ipc namespace", sym(unix.CLONE_NEWIPC, "CLONE_NEWIPC")},
		{core.NamespaceNetwork, "network namespace", sym(unix.CLONE_NEWNET, "CLONE_NEWNET")},
		{core.NamespaceMount, "mount namespace", sym(unix.CLONE_NEWNS, "CLONE_NEWNS")},
	} {
		if p.birth.Namespaces&n.kind != 0 {
			p.at(n.name, "")
			p.add(sysUnshare, n.flags)
		}
	}
}

// resourceNumbers are those of getrlimit(2), the same on both architectures.
var resourceNumbers = map[core.Resource]int{
	core.ResourceCore:         unix.RLIMIT_CORE,
	core.ResourceCPU:          unix.RLIMIT_CPU,
	core.ResourceFileSize:     unix.RLIMIT_FSIZE,
	core.ResourceOpenFiles:    unix.RLIMIT_NOFILE,
	core.ResourceProcesses:    unix.RLIMIT_NPROC,
	core.ResourceAddressSpace: unix.RLIMIT_AS,
}

// limits first gives the command the limit on open files that this process was
// started with, in place of the one that Go raised for itself.
func (p *compiler) limits() error {
	var now unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &now); err != nil {
		return &Error{Step: "limit RLIMIT_NOFILE", Index: -1, Call: "getrlimit", Errno: err.(syscall.Errno)}
	}
	if nofile.Lowered(nofile.Limit{Soft: now.Cur, Hard: now.Max}) {
		p.limit(core.ResourceOpenFiles, nofile.Original.Soft, nofile.Original.Hard, "original")
	}
	for _, l := range p.birth.Limits {
		p.limit(l.Resource, l.Soft, l.Hard, "soft "+limitText(l.Soft)+" hard "+limitText(l.Hard))
	}
	return nil
}

func (p *compiler) limit(r core.Resource, soft, hard uint64, shown string) {
	p.at("limit "+resources[r], "")
	value := binary.NativeEndian.AppendUint64(binary.NativeEndian.AppendUint64(nil, soft), hard)
	p.add(sysPrlimit, num(0), sym(resourceNumbers[r], resources[r]), buf(value, shown), null)
}

func limitText(n uint64) string {
	if n == unix.RLIM_INFINITY {
		return "unlimited"
	}
	return strconv.FormatUint(n, 10)
}

// directory enters the working directory. With mounts of its own the child
// enters even the one it is in, by path: the inherited one is below the mounts.
func (p *compiler) directory() error {
	if len(p.birth.Mounts) > 0 {
		wd, err := syscall.Getwd()
		if err != nil {
			errno, _ := err.(syscall.Errno)
			return &Error{Step: StepDirectory, Index: -1, Call: "getcwd", Errno: errno}
		}
		p.at(StepDirectory, wd)
		p.add(sysChdir, str(wd))
	}
	if dir := p.command.Dir; dir != "" {
		p.at(StepDirectory, dir)
		p.add(sysChdir, str(dir))
	}
	return nil
}

func (p *compiler) landlock() {
	if p.birth.NoNewPrivileges {
		p.at("no_new_privs", "")
		p.add(sysPrctl, sym(unix.PR_SET_NO_NEW_PRIVS, "PR_SET_NO_NEW_PRIVS"), num(1), num(0), num(0), num(0))
	}
	for i, ruleset := range p.rulesets {
		p.at("landlock", "")
		p.add(sysLandlock, ruleset, num(p.birth.Landlock[i].Flags))
	}
}

// undeclared closes every other descriptor: those of this process, those of the
// steps before, and those without close-on-exec that this process inherited and
// knows nothing of. No later step needs one.
func (p *compiler) undeclared() {
	p.at("descriptors", "")
	p.add(sysCloseRange, num(len(p.command.Files)), arg{value: uintptr(^uint32(0)), shown: "~0"}, num(0))
}

// signals gives the child the signal mask that the parent has outside of the
// birth. It is late because a signal that stops the child stops the parent too.
func (p *compiler) signals() {
	p.at("signals", "")
	p.add(sysSigprocmask, sym(unix.SIG_SETMASK, "SIG_SETMASK"), arg{kind: maskAt, shown: "mask"}, null, num(8))
}

func (p *compiler) seccomp() {
	for _, f := range p.birth.Seccomp {
		program := make([]byte, 0, 8*len(f.Program))
		for _, i := range f.Program { // struct sock_filter
			program = binary.NativeEndian.AppendUint16(program, i.Code)
			program = append(program, i.JT, i.JF)
			program = binary.NativeEndian.AppendUint32(program, i.K)
		}
		p.at("seccomp", "")
		p.add(sysSeccomp, sym(unix.SECCOMP_SET_MODE_FILTER, "SECCOMP_SET_MODE_FILTER"), num(0),
			arg{kind: filter, bytes: string(program)})
	}
}
