package birth

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/pinfold/pinfold/core"
)

// TestRefusedBeforehand: what cannot be meant is refused before anything is done.
func TestRefusedBeforehand(t *testing.T) {
	gone, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	mount := func(m core.Mount) func(*Command, *core.Birth) {
		return func(_ *Command, b *core.Birth) {
			b.Namespaces, b.Mounts = core.NamespaceMount, []core.Mount{m}
		}
	}
	limits := func(l ...core.ResourceLimit) func(*Command, *core.Birth) {
		return func(_ *Command, b *core.Birth) { b.Limits = l }
	}
	for _, c := range []struct {
		want  string // in the message
		errno syscall.Errno
		spoil func(c *Command, b *core.Birth)
	}{
		{"path of the command is empty", syscall.ENOENT, func(c *Command, _ *core.Birth) { c.Path = "" }},
		{"argument vector is empty", syscall.EINVAL, func(c *Command, _ *core.Birth) { c.Args = nil }},
		{"path of the command contains a NUL", syscall.EINVAL, func(c *Command, _ *core.Birth) { c.Path = "/a\x00b" }},
		{"argument contains a NUL", syscall.EINVAL, func(c *Command, _ *core.Birth) { c.Args = []string{"a", "\x00"} }},
		{"variable contains a NUL", syscall.EINVAL, func(c *Command, _ *core.Birth) { c.Env = []string{"A=\x00"} }},
		{"directory contains a NUL", syscall.EINVAL, func(c *Command, _ *core.Birth) { c.Dir = "\x00" }},
		{"descriptor 1 was closed", syscall.EBADF, func(c *Command, _ *core.Birth) { c.Files = []*os.File{nil, gone} }},
		{"Setsid excludes", syscall.EINVAL, func(c *Command, _ *core.Birth) { c.Setsid, c.Setpgid = true, true }},
		{"Setsid excludes", syscall.EINVAL, func(c *Command, _ *core.Birth) { c.Setsid, c.Foreground = true, os.Stdin }},
		{"needs Setsid", syscall.EINVAL, func(c *Command, _ *core.Birth) { c.ControllingTerminal = os.Stdin }},
		{"process group -1", syscall.EINVAL, func(c *Command, _ *core.Birth) { c.Setpgid, c.Pgid = true, -1 }},
		{"process group 7 is given", syscall.EINVAL, func(c *Command, _ *core.Birth) { c.Pgid = 7 }},
		{"terminal was closed", syscall.EBADF, func(c *Command, _ *core.Birth) { c.Foreground = gone }},
		{"cgroup's directory was closed", syscall.EBADF, func(_ *Command, b *core.Birth) { b.Cgroup = gone }},
		{"unknown namespaces 0x100", syscall.EINVAL, func(_ *Command, b *core.Birth) { b.Namespaces = 0x100 }},
		{"need a mount namespace", syscall.EINVAL, func(_ *Command, b *core.Birth) { b.Mounts = make([]core.Mount, 1) }},
		{"unknown kind of mount 9", syscall.EINVAL, mount(core.Mount{Kind: 9, Target: "/x"})},
		{`target "x"`, syscall.EINVAL, mount(core.Mount{Kind: core.MountEmpty, Target: "x"})},
		{`target "/x/../y"`, syscall.EINVAL, mount(core.Mount{Kind: core.MountEmpty, Target: "/x/../y"})},
		{`target "/x\x00"`, syscall.EINVAL, mount(core.Mount{Kind: core.MountEmpty, Target: "/x\x00"})},
		{`source ""`, syscall.EINVAL, mount(core.Mount{Kind: core.MountBind, Target: "/x"})},
		{"needs a PID namespace", syscall.EINVAL, mount(core.Mount{Kind: core.MountProc, Target: "/proc"})},
		{"root can be made read-only", syscall.EINVAL, mount(core.Mount{Kind: core.MountEmpty, Target: "/"})},
		{"root can be made read-only", syscall.EINVAL, mount(core.Mount{Kind: core.MountBind, Source: "/", Target: "/"})},
		{"unknown resource 99", syscall.EINVAL, limits(core.ResourceLimit{Resource: 99})},
		{"above the hard limit", syscall.EINVAL, limits(core.ResourceLimit{Resource: core.ResourceCPU, Soft: 2, Hard: 1})},
		{"RLIMIT_CPU is limited twice", syscall.EINVAL,
			limits(core.ResourceLimit{Resource: core.ResourceCPU}, core.ResourceLimit{Resource: core.ResourceCPU})},
		{"17 Landlock rulesets", syscall.E2BIG, func(_ *Command, b *core.Birth) { b.Landlock = make([]core.LandlockRuleset, 17) }},
		{"ruleset 1 of 1 was closed", syscall.EBADF, func(_ *Command, b *core.Birth) { b.Landlock = make([]core.LandlockRuleset, 1) }},
		{"filter 1 of 1 has 0 instr", syscall.EINVAL, func(_ *Command, b *core.Birth) { b.Seccomp = make([]core.SeccompFilter, 1) }},
		{"has 4097 instr", syscall.EINVAL, func(_ *Command, b *core.Birth) {
			b.Seccomp = []core.SeccompFilter{{Program: make([]core.BPFInstruction, 4097)}}
		}},
	} {
		command, b := &Command{Path: "/bin/true", Args: []string{"true"}}, &core.Birth{}
		c.spoil(command, b)
		_, err := Start(command, b)
		var e *Error
		if !errors.As(err, &e) || e.Step != StepCommand || e.Index != -1 || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
		if !errors.Is(err, c.errno) {
			t.Errorf("%v is not %v", err, c.errno)
		}
	}
}
