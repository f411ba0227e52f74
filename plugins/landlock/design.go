//go:build linux

package landlock

import (
	"strconv"

	"github.com/landlock-lsm/go-landlock/landlock/syscall"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/plugins/landlock/seccomp"
)

// A design is what a policy comes to on a machine before any path is looked at:
// what Landlock handles, and what the filter closes. It follows from the two alone.
type design struct {
	machine *machine
	policy  *core.Policy
	// handled is what the ruleset handles, and so denies but for its rules. The
	// zero value means that there is no ruleset.
	handled rights
	// drop is the set of capabilities that the command loses.
	drop uint64
	// filter is nil if nothing is to be filtered or no filter can be installed.
	filter *seccomp.Options
	// ports: TCP is granted by port.
	ports bool
	// unixPaths: unix sockets are granted by path.
	unixPaths bool
}

// Rights that dimensions depend on, as questions to the table of versions.
var (
	wholeFS      = supportedBy(1)
	truncation   = rights{fs: syscall.AccessFSTruncate}
	moving       = rights{fs: syscall.AccessFSRefer}
	tcpPorts     = rights{net: syscall.AccessNetBindTCP | syscall.AccessNetConnectTCP}
	udpPorts     = rights{net: syscall.AccessNetBindUDP | syscall.AccessNetConnectSendUDP}
	signalScope  = rights{scoped: syscall.ScopeSignal}
	abstractUnix = rights{scoped: syscall.ScopeAbstractUnixSocket}
	pathUnix     = rights{fs: syscall.AccessFSResolveUnix, scoped: syscall.ScopeAbstractUnixSocket}
)

func newDesign(m *machine, p *core.Policy) *design {
	d := &design{machine: m, policy: p, drop: dropped(p)}
	d.ports = p.Network.Mode == core.NetworkPorts && d.supports(tcpPorts)
	d.unixPaths = p.Unix.Mode == core.UnixNone && len(p.Unix.Connect) > 0 && d.supports(pathUnix)
	d.handled = d.handledRights()
	d.filter = d.filterOptions()
	return d
}

// supports reports whether the machine's Landlock has all of want.
func (d *design) supports(want rights) bool {
	return d.machine.landlock == landlockActive && supportedBy(d.machine.abi()).has(want)
}

// handles reports whether the ruleset handles all of want.
func (d *design) handles(want rights) bool { return d.handled.has(want) }

// domain reports whether there is a ruleset at all. Whoever is under one can
// trace only what is under the same one (Linux 5.13).
func (d *design) domain() bool { return d.handled != rights{} }

func (d *design) handledRights() rights {
	if d.machine.landlock != landlockActive {
		return rights{}
	}
	p := d.policy
	var want rights
	if p.Filesystem.Confined {
		want.fs = readRights | writeRights | executeRights |
			syscall.AccessFSMakeChar | syscall.AccessFSMakeBlock | syscall.AccessFSIoctlDev
	}
	if p.Network.Mode == core.NetworkNone || p.Network.Mode == core.NetworkPorts {
		want = want.union(tcpPorts).union(udpPorts)
	}
	if p.Unix.Mode == core.UnixNone {
		want = want.union(pathUnix)
	}
	if p.Asks(core.Signals) {
		want = want.union(signalScope)
	}
	return want.intersect(supportedBy(d.machine.abi()))
}

// filterOptions returns what the filter closes: what the policy asks for, and what
// would undo it. Files can be reached past the ruleset by handle (open_by_handle_at)
// or with the mounts of another namespace, so both are closed with the filesystem.
func (d *design) filterOptions() *seccomp.Options {
	p := d.policy
	if d.machine.filter != nil || !p.Confines() && !d.asksAny(core.Signals, core.Tracing, core.Terminal, core.Privileges) {
		return nil
	}
	o := &seccomp.Options{
		Network:       d.filterNetwork(),
		Unix:          seccomp.UnixClosed,
		Listen:        d.ports && len(p.Network.Bind) > 0,
		CloseTruncate: p.Filesystem.Confined && d.domain() && !d.handles(truncation),
	}
	if p.Unix.Mode != core.UnixNone || d.unixPaths {
		o.Unix = seccomp.UnixOpen
	}
	if !d.asksAny(core.Signals) {
		o.Leave |= seccomp.GroupLimits
	}
	if !d.asksAny(core.Tracing) {
		o.Leave |= seccomp.GroupTracing
	}
	if !d.asksAny(core.Terminal) {
		o.Leave |= seccomp.GroupTerminal
	}
	if !d.asksAny(core.Privileges) {
		o.Leave |= seccomp.GroupKeyrings | seccomp.GroupIPC
		if o.Network == seccomp.NetworkUnfiltered && o.Unix == seccomp.UnixOpen && !o.CloseTruncate {
			o.Leave |= seccomp.GroupIOUring
		}
		if !p.Filesystem.Confined {
			o.Leave |= seccomp.GroupMounts | seccomp.GroupNamespaces | seccomp.GroupKernel
		}
	}
	return o
}

// filterNetwork is the filter's part of the network. Where ports are asked for
// and cannot be held, the network is closed.
func (d *design) filterNetwork() seccomp.NetworkMode {
	switch d.policy.Network.Mode {
	case core.NetworkAll:
		return seccomp.NetworkAll
	case core.NetworkUnconfined:
		return seccomp.NetworkUnfiltered
	}
	if d.ports {
		return seccomp.NetworkTCP
	}
	return seccomp.NetworkOff
}

func (d *design) asksAny(dims ...core.Dimension) bool {
	for _, dim := range dims {
		if d.policy.Asks(dim) {
			return true
		}
	}
	return false
}

// filtered reports whether the filter closes all of the groups.
func (d *design) filtered(g seccomp.Group) bool { return d.filter != nil && d.filter.Leave&g == 0 }

// mechanism names what is in use, for the Mechanism of a finding.
func (d *design) mechanism(landlock, filter bool) string {
	text := ""
	if landlock && d.domain() {
		text = "Landlock ABI " + strconv.Itoa(d.machine.abi())
	}
	if filter && d.filter != nil {
		if text != "" {
			text += ", "
		}
		text += "seccomp"
	}
	return text
}
