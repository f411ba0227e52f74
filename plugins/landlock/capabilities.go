//go:build linux

package landlock

import (
	"strings"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
)

// A keptCapability is one that a confined process keeps if it has it.
type keptCapability struct {
	number int // of capabilities(7)
	name   string
	why    string
	when   func(*core.Policy) bool // nil: always
}

// keptCapabilities are what root's work on files and users needs, and Landlock and
// the filter bound: a subset of what container engines leave. Every other one is
// dropped, also those that kernels will come to have. Of the engines' list these
// are missing: MKNOD, SYS_CHROOT and AUDIT_WRITE, since Landlock and the filter
// refuse what they are for; and SETFCAP, since no_new_privs makes capabilities of
// files void inside, so that it could serve processes outside only.
var keptCapabilities = []keptCapability{
	{unix.CAP_CHOWN, "CHOWN", "unpacking and installing files for other users", nil},
	{unix.CAP_DAC_OVERRIDE, "DAC_OVERRIDE", "working in directories that belong to other users", nil},
	{unix.CAP_FOWNER, "FOWNER", "changing modes and times of files of other users", nil},
	{unix.CAP_FSETID, "FSETID", "setting the group bit of files of other groups, which is lost in silence without it", nil},
	{unix.CAP_KILL, "KILL", "ending processes that were started as other users", nil},
	{unix.CAP_SETGID, "SETGID", "starting processes as other users", nil},
	{unix.CAP_SETUID, "SETUID", "starting processes as other users", nil},
	{unix.CAP_SETPCAP, "SETPCAP", "giving up more capabilities", nil},
	{unix.CAP_NET_BIND_SERVICE, "NET_BIND_SERVICE", "binding granted ports below 1024", bindsPorts},
	{unix.CAP_NET_RAW, "NET_RAW", "ping, where the whole network is granted", wholeNetwork},
}

func bindsPorts(p *core.Policy) bool {
	return wholeNetwork(p) || p.Network.Mode == core.NetworkPorts && len(p.Network.Bind) > 0
}

func wholeNetwork(p *core.Policy) bool {
	return p.Network.Mode == core.NetworkAll || p.Network.Mode == core.NetworkUnconfined
}

// dropped is the set of capabilities that the command loses. It follows from the
// policy alone, so it is right whatever capabilities the host has. A policy that is
// about sockets only leaves them all, as its filter leaves what they are for.
func dropped(p *core.Policy) uint64 {
	if !p.Filesystem.Confined && !p.Asks(core.Signals) && !p.Asks(core.Tracing) && !p.Asks(core.Privileges) {
		return 0
	}
	drop := ^uint64(0)
	for _, k := range keptCapabilities {
		if k.when == nil || k.when(p) {
			drop &^= 1 << k.number
		}
	}
	return drop
}

// keptText names what is left of a set.
func keptText(drop uint64) string {
	var names []string
	for _, k := range keptCapabilities {
		if drop&(1<<k.number) == 0 {
			names = append(names, "CAP_"+k.name)
		}
	}
	return strings.Join(names, " ")
}

// left is the set of capabilities that this process has and the command keeps.
func (d *design) left() uint64 { return d.machine.capabilities &^ d.drop }

// withoutCapabilities adds to a finding that capabilities are dropped, if this
// process has some.
func (d *design) withoutCapabilities(f core.Finding) core.Finding {
	if d.machine.capabilities&d.drop != 0 {
		f.Mechanism += ", dropped capabilities"
	}
	return f
}

// overridesModes reports whether the command is not held by the permission bits of files.
func (d *design) overridesModes() bool { return d.has(unix.CAP_DAC_OVERRIDE, unix.CAP_DAC_READ_SEARCH) }

// has reports whether the command keeps one of the capabilities.
func (d *design) has(one ...int) bool {
	for _, c := range one {
		if d.left()&(1<<c) != 0 {
			return true
		}
	}
	return false
}
