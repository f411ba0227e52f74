package birth

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/pinfold/pinfold/core"
)

const (
	// maxLandlock is LANDLOCK_MAX_NUM_LAYERS of the kernel.
	maxLandlock = 16
	// maxFilter is BPF_MAXINSNS of <linux/bpf_common.h>.
	maxFilter = 4096

	namespaces = core.NamespaceUser | core.NamespaceMount | core.NamespacePID |
		core.NamespaceIPC | core.NamespaceNetwork
)

func refuse(errno syscall.Errno, format string, args ...any) error {
	return &Error{Step: StepCommand, Index: -1, Errno: errno, Detail: fmt.Sprintf(format, args...)}
}

// validate refuses what the kernel would refuse late, name badly, or silently
// take for something else.
func validate(c *Command, b *core.Birth) error {
	for _, check := range []func(*Command, *core.Birth) error{
		validateStrings, validateFiles, validateTerminal, validateMounts, validateLimits, validateFilters,
	} {
		if err := check(c, b); err != nil {
			return err
		}
	}
	return nil
}

func validateStrings(c *Command, _ *core.Birth) error {
	if c.Path == "" {
		return refuse(syscall.ENOENT, "the path of the command is empty")
	}
	if len(c.Args) == 0 {
		return refuse(syscall.EINVAL, "the argument vector is empty: it starts with the command's name")
	}
	for _, s := range []struct {
		what   string
		values []string
	}{
		{"the path of the command", []string{c.Path}},
		{"the working directory", []string{c.Dir}},
		{"an argument", c.Args},
		{"an environment variable", c.Env},
	} {
		if i := slices.IndexFunc(s.values, hasNUL); i >= 0 {
			return refuse(syscall.EINVAL, "%s contains a NUL byte: %q", s.what, s.values[i])
		}
	}
	return nil
}

func hasNUL(s string) bool { return strings.IndexByte(s, 0) >= 0 }

func closed(f *os.File) bool { return f != nil && f.Fd() == ^uintptr(0) }

func validateFiles(c *Command, b *core.Birth) error {
	if i := slices.IndexFunc(c.Files, closed); i >= 0 {
		return refuse(syscall.EBADF, "the file for descriptor %d was closed", i)
	}
	if closed(b.Cgroup) {
		return refuse(syscall.EBADF, "the cgroup's directory was closed")
	}
	return nil
}

func validateTerminal(c *Command, _ *core.Birth) error {
	switch {
	case c.Setsid && (c.Setpgid || c.Foreground != nil):
		return refuse(syscall.EINVAL, "a session leader already leads a process group: Setsid excludes Setpgid and Foreground")
	case c.ControllingTerminal != nil && !c.Setsid:
		return refuse(syscall.EINVAL, "a controlling terminal needs a new session: ControllingTerminal needs Setsid")
	case c.Pgid < 0:
		return refuse(syscall.EINVAL, "process group %d is negative", c.Pgid)
	case c.Pgid != 0 && !c.Setpgid && c.Foreground == nil:
		return refuse(syscall.EINVAL, "process group %d is given, but neither Setpgid nor Foreground", c.Pgid)
	case closed(c.ControllingTerminal), closed(c.Foreground):
		return refuse(syscall.EBADF, "the terminal was closed")
	}
	return nil
}

func validateMounts(_ *Command, b *core.Birth) error {
	if unknown := b.Namespaces &^ namespaces; unknown != 0 {
		return refuse(syscall.EINVAL, "unknown namespaces %#x", uint32(unknown))
	}
	if len(b.Mounts) > 0 && b.Namespaces&core.NamespaceMount == 0 {
		return refuse(syscall.EINVAL, "mounts need a mount namespace of their own")
	}
	for _, m := range b.Mounts {
		if err := validateMount(m, b.Namespaces); err != nil {
			return err
		}
	}
	return nil
}

func validateMount(m core.Mount, has core.Namespaces) error {
	if !plain(m.Target) {
		return refuse(syscall.EINVAL, "mount target %q is not a clean absolute path", m.Target)
	}
	switch m.Kind {
	case core.MountBind:
		if !plain(m.Source) {
			return refuse(syscall.EINVAL, "mount source %q is not a clean absolute path", m.Source)
		}
	case core.MountEmpty:
	case core.MountProc:
		if has&core.NamespacePID == 0 {
			return refuse(syscall.EINVAL, "a fresh proc filesystem on %q needs a PID namespace of its own", m.Target)
		}
	default:
		return refuse(syscall.EINVAL, "unknown kind of mount %d on %q", m.Kind, m.Target)
	}
	if m.Target == "/" && (m.Kind != core.MountBind || m.Source != "/" || !m.ReadOnly) {
		return refuse(syscall.EINVAL, "the root can be made read-only (bind / on / read-only), but not replaced")
	}
	return nil
}

func plain(path string) bool {
	return filepath.IsAbs(path) && filepath.Clean(path) == path && !hasNUL(path)
}

func validateLimits(_ *Command, b *core.Birth) error {
	seen := map[core.Resource]bool{}
	for _, l := range b.Limits {
		switch {
		case resources[l.Resource] == "":
			return refuse(syscall.EINVAL, "unknown resource %d in a limit", l.Resource)
		case seen[l.Resource]:
			return refuse(syscall.EINVAL, "%s is limited twice", resources[l.Resource])
		case l.Soft > l.Hard:
			return refuse(syscall.EINVAL, "the soft limit %d of %s is above the hard limit %d", l.Soft, resources[l.Resource], l.Hard)
		}
		seen[l.Resource] = true
	}
	return nil
}

// resources are the names of setrlimit(2).
var resources = map[core.Resource]string{
	core.ResourceCore:         "RLIMIT_CORE",
	core.ResourceCPU:          "RLIMIT_CPU",
	core.ResourceFileSize:     "RLIMIT_FSIZE",
	core.ResourceOpenFiles:    "RLIMIT_NOFILE",
	core.ResourceProcesses:    "RLIMIT_NPROC",
	core.ResourceAddressSpace: "RLIMIT_AS",
}

func validateFilters(_ *Command, b *core.Birth) error {
	if len(b.Landlock) > maxLandlock {
		return refuse(syscall.E2BIG, "%d Landlock rulesets: the kernel takes %d at most", len(b.Landlock), maxLandlock)
	}
	for i, l := range b.Landlock {
		if l.File == nil || closed(l.File) {
			return refuse(syscall.EBADF, "Landlock ruleset %d of %d was closed", i+1, len(b.Landlock))
		}
	}
	for i, f := range b.Seccomp {
		if n := len(f.Program); n == 0 || n > maxFilter {
			return refuse(syscall.EINVAL, "seccomp filter %d of %d has %d instructions: the kernel takes 1 to %d",
				i+1, len(b.Seccomp), n, maxFilter)
		}
	}
	return nil
}
