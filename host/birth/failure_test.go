//go:build linux && (amd64 || arm64)

package birth

import (
	"encoding/json"
	"errors"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
)

// A failure is a launch that cannot succeed, and the error it must end with.
type failure struct {
	step   string
	call   string
	errno  syscall.Errno
	signal syscall.Signal
	// prepare changes a launch that would succeed. Dir is a scratch directory.
	prepare func(dir string, c *Command, b *core.Birth)
	// host, if not nil, is what the process that launches was born with.
	host *core.Birth
	// user makes the process that launches an unprivileged one; root needs it
	// to be privileged.
	user, root bool
}

const nobody = 65534

// refusing is a host in which the kernel answers EPERM to one call.
func refusing(call uintptr) *core.Birth {
	return filtered(answer(refuseWith|uint32(unix.EPERM), call))
}

func fakeRuleset(b *core.Birth) {
	f, _ := os.Open("/dev/null")
	b.NoNewPrivileges = true
	b.Landlock = []core.LandlockRuleset{{File: f}}
}

// mountsOf asks for mounts, with what an unprivileged caller needs for them.
func mountsOf(b *core.Birth, mounts ...core.Mount) {
	b.Namespaces |= core.NamespaceMount
	if os.Geteuid() != 0 {
		b.Namespaces |= core.NamespaceUser
	}
	b.Mounts = mounts
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func failures() map[string]failure {
	all := map[string]failure{}
	for _, more := range []map[string]failure{
		cloneFailures, sessionFailures, descriptorFailures, namespaceFailures, limitFailures, capabilityFailures, filterFailures, execFailures,
	} {
		for name, f := range more {
			all[name] = f
		}
	}
	return all
}

var cloneFailures = map[string]failure{
	"no clone3": {step: "clone", call: "clone3", errno: unix.ENOSYS,
		host: filtered(answer(refuseWith|uint32(unix.ENOSYS), unix.SYS_CLONE3))},
	"not a cgroup": {step: "cgroup", call: "clone3", errno: unix.EBADF,
		prepare: func(dir string, _ *Command, b *core.Birth) { b.Cgroup, _ = os.Open(dir) }},
	"no user namespace left": {step: "user namespace", call: "clone3", errno: unix.ENOSPC, root: true,
		host: &core.Birth{Namespaces: core.NamespaceUser},
		prepare: func(_ string, _ *Command, b *core.Birth) {
			must(os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0))
			b.Namespaces = core.NamespaceUser
		}},
	"pid namespace without privilege": {step: "pid namespace", call: "clone3", errno: unix.EPERM, user: true,
		prepare: func(_ string, _ *Command, b *core.Birth) { b.Namespaces = core.NamespacePID }},
}

var sessionFailures = map[string]failure{
	"no session": {step: "session", call: "setsid", errno: unix.EPERM, host: refusing(unix.SYS_SETSID),
		prepare: func(_ string, c *Command, _ *core.Birth) { c.Setsid = true }},
	"not a terminal": {step: "controlling terminal", call: "ioctl", errno: unix.ENOTTY,
		prepare: func(_ string, c *Command, _ *core.Birth) {
			c.Setsid = true
			c.ControllingTerminal, _ = os.Open("/dev/null")
		}},
	"process group of another session": {step: "process group", call: "setpgid", errno: unix.EPERM,
		prepare: func(_ string, c *Command, _ *core.Birth) { c.Setpgid, c.Pgid = true, 1 }},
	"not a terminal to be in the foreground of": {step: "foreground", call: "ioctl", errno: unix.ENOTTY,
		prepare: func(_ string, c *Command, _ *core.Birth) { c.Foreground, _ = os.Open("/dev/null") }},
}

var descriptorFailures = map[string]failure{
	"no number left": {step: "descriptor 70", call: "fcntl", errno: unix.EINVAL,
		host: &core.Birth{Limits: []core.ResourceLimit{{Resource: core.ResourceOpenFiles, Soft: 64, Hard: 64}}},
		prepare: func(_ string, c *Command, _ *core.Birth) {
			c.Files = make([]*os.File, 71)
			c.Files[70] = os.Stderr
		}},
	"no close_range": {step: "descriptors", call: "close_range", errno: unix.EPERM, host: refusing(unix.SYS_CLOSE_RANGE)},
}

var limitFailures = map[string]failure{
	"above the hard limit": {step: "limit RLIMIT_CORE", call: "prlimit64", errno: unix.EPERM, user: true,
		prepare: func(_ string, _ *Command, b *core.Birth) {
			must(unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 10, Max: 10}))
			b.Limits = []core.ResourceLimit{{Resource: core.ResourceCore, Soft: 10, Hard: 20}}
		}},
	"no directory": {step: "chdir", call: "chdir", errno: unix.ENOENT,
		prepare: func(dir string, c *Command, _ *core.Birth) { c.Dir = dir + "/none" }},
	"directory is a file": {step: "chdir", call: "chdir", errno: unix.ENOTDIR,
		prepare: func(_ string, c *Command, _ *core.Birth) { c.Dir = "/dev/null" }},
}

var filterFailures = map[string]failure{
	"no no_new_privs": {step: "no_new_privs", call: "prctl", errno: unix.EPERM, host: refusing(unix.SYS_PRCTL),
		prepare: func(_ string, _ *Command, b *core.Birth) { b.NoNewPrivileges = true }},
	"not a ruleset": {step: "landlock", call: "landlock_restrict_self", errno: unix.EBADFD,
		prepare: func(_ string, _ *Command, b *core.Birth) { fakeRuleset(b) }},
	"landlock without no_new_privs": {step: "landlock", call: "landlock_restrict_self", errno: unix.EPERM, user: true,
		prepare: func(_ string, _ *Command, b *core.Birth) { fakeRuleset(b); b.NoNewPrivileges = false }},
	"seccomp without no_new_privs": {step: "seccomp", call: "seccomp", errno: unix.EACCES, user: true,
		prepare: func(_ string, _ *Command, b *core.Birth) {
			*b = *refusing(unix.SYS_KEXEC_LOAD)
			b.NoNewPrivileges = false
		}},
	"a jump out of the filter": {step: "seccomp", call: "seccomp", errno: unix.EINVAL,
		prepare: func(_ string, _ *Command, b *core.Birth) {
			*b = *filtered(core.SeccompFilter{Program: []core.BPFInstruction{{Code: 0x05, K: 9}}})
		}},
	"a filter that kills the next": {step: "seccomp", call: "seccomp", signal: unix.SIGSYS,
		prepare: func(_ string, _ *Command, b *core.Birth) {
			*b = *filtered(answer(killProcess, unix.SYS_SECCOMP), answer(allow))
		}},
}

var execFailures = map[string]failure{
	"no program": {step: "exec", call: "execve", errno: unix.ENOENT,
		prepare: func(dir string, c *Command, _ *core.Birth) { c.Path = dir + "/none" }},
	"not executable": {step: "exec", call: "execve", errno: unix.EACCES,
		prepare: func(_ string, c *Command, _ *core.Birth) { c.Path = "/etc/passwd" }},
	"a directory": {step: "exec", call: "execve", errno: unix.EACCES,
		prepare: func(dir string, c *Command, _ *core.Birth) { c.Path = dir }},
	"neither program nor script": {step: "exec", call: "execve", errno: unix.ENOEXEC,
		prepare: func(dir string, c *Command, _ *core.Birth) {
			c.Path = dir + "/text"
			must(os.WriteFile(c.Path, []byte("no program\n"), 0o700))
		}},
	"a filter that forbids execve": {step: "exec", call: "execve", errno: unix.EPERM,
		prepare: func(_ string, _ *Command, b *core.Birth) { *b = *refusing(unix.SYS_EXECVE) }},
	"a filter that feigns execve": {step: "exec", call: "execve",
		prepare: func(_ string, _ *Command, b *core.Birth) { *b = *filtered(answer(refuseWith, unix.SYS_EXECVE)) }},
	"a filter that forbids execve and exit_group": {step: "exec", call: "execve", errno: unix.EPERM, signal: unix.SIGTRAP,
		prepare: func(_ string, _ *Command, b *core.Birth) {
			*b = *filtered(answer(refuseWith|uint32(unix.EPERM), unix.SYS_EXECVE, unix.SYS_EXIT_GROUP))
		}},
	"a filter that feigns everything": {step: "exec", call: "execve",
		prepare: func(_ string, _ *Command, b *core.Birth) {
			*b = *filtered(core.SeccompFilter{Program: []core.BPFInstruction{{Code: 0x06, K: refuseWith}}})
		}},
}

// attempt makes one failing launch and returns its error.
func attempt(f failure, dir string) error {
	c, b := &Command{Path: "/bin/true", Args: []string{"true"}}, &core.Birth{}
	if f.prepare != nil {
		f.prepare(dir, c, b)
	}
	before := len(zombies())
	process, err := Start(c, b)
	if err == nil {
		process.Wait()
		return errors.New("the launch succeeded")
	}
	if after := len(zombies()); after != before {
		return errors.New("the launch left a child behind")
	}
	b.Close()
	c.ControllingTerminal.Close() // of nil is an error, and nothing else
	c.Foreground.Close()
	return err
}

// zombies are the children of this process that nobody has waited for.
func zombies() []int {
	var info unix.Siginfo
	if err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); err == unix.ECHILD {
		return nil
	}
	return []int{1}
}

// printAttempt is a host of its own for one failure.
func printAttempt(args []string) {
	err := attempt(failures()[args[0]], args[1])
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{Detail: err.Error()}
	}
	must(json.NewEncoder(os.Stdout).Encode(e))
}

// attemptElsewhere makes the launch in a process of its own.
func attemptElsewhere(t *testing.T, name string, f failure, dir string) *Error {
	t.Helper()
	var out string
	if f.user {
		out = asUser(t, "attempt", name, dir)
	} else {
		out, _ = output(t, child("attempt", name, dir), f.host)
	}
	e := new(Error)
	if err := json.Unmarshal([]byte(out), e); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	return e
}

// TestFailuresAreNamed forces every step to fail.
func TestFailuresAreNamed(t *testing.T) {
	for name, f := range failures() {
		t.Run(name, func(t *testing.T) {
			if f.root {
				needRoot(t)
			}
			var e *Error
			dir := scratch(t)
			if f.host != nil || f.user {
				e = attemptElsewhere(t, name, f, dir)
			} else if err := attempt(f, dir); !errors.As(err, &e) {
				t.Fatal(err)
			}
			if e.Errno == unix.ENOSYS && f.errno != unix.ENOSYS {
				t.Skipf("needs a kernel with %s", e.Call)
			}
			if e.Step != f.step || e.Call != f.call || e.Errno != f.errno || e.Signal != f.signal {
				t.Errorf("%s, %s: errno %d, signal %d, want %s, %s, %d, %d\n%v",
					e.Step, e.Call, e.Errno, e.Signal, f.step, f.call, f.errno, f.signal, e)
			}
			t.Log(e)
		})
	}
}
