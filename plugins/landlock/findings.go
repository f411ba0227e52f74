//go:build linux

package landlock

import (
	"slices"
	"strings"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/plugins/landlock/seccomp"
)

// dimensionFindings are the answers of this backend, one for each dimension that
// it is about. Environment and descriptors are the host's, clean-up the tracker's.
var dimensionFindings = map[core.Dimension]func(*design) core.Finding{
	core.FSRead:      fsReadFinding,
	core.FSWrite:     fsWriteFinding,
	core.FSExecute:   fsExecuteFinding,
	core.FSMetadata:  fsMetadataFinding,
	core.Network:     networkFinding,
	core.UnixSockets: unixFinding,
	core.Signals:     signalsFinding,
	core.Tracing:     tracingFinding,
	core.Terminal:    terminalFinding,
	core.Privileges:  privilegesFinding,
}

// findings reports on the dimensions that the policy asks for, in their order.
func (d *design) findings() []core.Finding {
	var all []core.Finding
	for _, dim := range core.Dimensions() {
		report, ok := dimensionFindings[dim]
		if !ok || !d.policy.Asks(dim) {
			continue
		}
		f := report(d)
		f.Dimension = dim
		if f.Observed == "" {
			f.Observed = d.observed(f.Mechanism)
		}
		all = append(all, f)
	}
	return all
}

// observed says what the machine has of the mechanisms that a finding names.
func (d *design) observed(mechanism string) string {
	if strings.HasPrefix(mechanism, "Landlock") {
		return d.machine.observedLandlock()
	}
	return ""
}

// lacksLandlock is the finding for what needs Landlock's want and has no other
// mechanism on this machine.
func (d *design) lacksLandlock(level core.Level, want rights, gap string) core.Finding {
	return core.Finding{Level: level, Gap: gap,
		Observed: d.machine.observedLandlock(),
		Required: firstWith(want).String(),
		Remedy:   d.machine.landlockRemedy(want)}
}

// lacksFilter is the finding for what needs the filter on a machine without one.
func (d *design) lacksFilter(level core.Level, gap string) core.Finding {
	return core.Finding{Level: level, Gap: gap,
		Observed: "seccomp filters: " + d.machine.filter.Error(),
		Required: "seccomp filters (Linux 3.5)",
		Remedy:   filterRemedy}
}

// notAsked is the finding for a dimension that the policy requires although it has
// nothing in it to enforce.
func notAsked(gap, remedy string) core.Finding {
	return core.Finding{Level: core.Unsupported, Gap: gap, Remedy: remedy}
}

func (d *design) enforced(landlock, filter bool) core.Finding {
	return core.Finding{Level: core.Enforced, Mechanism: d.mechanism(landlock, filter)}
}

func (d *design) partial(landlock, filter bool, gap, remedy string) core.Finding {
	return core.Finding{Level: core.Partial, Mechanism: d.mechanism(landlock, filter), Gap: gap, Remedy: remedy}
}

func networkFinding(d *design) core.Finding {
	p := d.policy.Network
	switch {
	case p.Mode == core.NetworkUnconfined:
		return notAsked("the policy does not confine the network", "give the policy a network mode")
	case d.filter == nil && d.handles(tcpPorts) && p.Mode != core.NetworkAll:
		gap := "only TCP is held: UDP, multipath TCP, raw, packet and every other kind of socket can be used"
		if d.handles(udpPorts) {
			gap = "only TCP and UDP are held: multipath TCP, raw, packet and every other kind of socket can be used"
		}
		f := d.lacksFilter(core.Partial, gap)
		f.Mechanism = d.mechanism(true, false)
		return f
	case d.filter == nil:
		return d.lacksFilter(core.Unsupported, "sockets of every family can be made")
	case p.Mode == core.NetworkPorts && !d.ports:
		// Closed altogether. The rules that were to be granted say so.
		return d.enforced(false, true)
	case p.Mode == core.NetworkPorts:
		return portsFinding(d)
	}
	return d.enforced(p.Mode == core.NetworkNone && d.handles(tcpPorts), true)
}

func portsFinding(d *design) core.Finding {
	const dns = "names are not resolved over UDP in this mode: grant TCP port 53 and set the resolver option use-vc, or use addresses"
	bind := d.policy.Network.Bind
	if len(bind) > 0 && !slices.Contains(bind, 0) {
		return d.partial(true, true,
			"a socket that listens without having been bound gets a free port from the kernel, whatever ports are granted",
			"grant port 0 to bind as well if that is acceptable; "+dns)
	}
	f := d.enforced(true, true)
	f.Remedy = dns
	return f
}

func unixFinding(d *design) core.Finding {
	if d.policy.Unix.Mode == core.UnixUnconfined {
		return notAsked("the policy does not confine unix sockets", "give the policy a unix socket mode")
	}
	closed := d.filter != nil && d.filter.Unix == seccomp.UnixClosed
	switch {
	case closed:
		return d.enforced(false, true)
	case d.handles(pathUnix):
		return d.enforced(true, false)
	case d.handles(abstractUnix):
		f := d.lacksFilter(core.Partial, "only abstract sockets are held: every socket in the filesystem can be connected to")
		f.Mechanism = d.mechanism(true, false)
		return f
	}
	return d.lacksFilter(core.Unsupported, "every unix socket can be connected to")
}

func signalsFinding(d *design) core.Finding {
	if !d.handles(signalScope) {
		return d.lacksLandlock(core.Unsupported, signalScope, "processes outside the session can be signalled")
	}
	if !d.filtered(seccomp.GroupLimits) {
		f := d.lacksFilter(core.Partial, "prlimit(2) can set a limit of CPU time on a process of the same user, which then dies of it")
		f.Mechanism = d.mechanism(true, false)
		return f
	}
	f := d.enforced(true, true)
	f.Gap = "processes of the same user can be slowed down, by their priority and by the processors that they may use, unless they have capabilities that the command lacks"
	return f
}

func tracingFinding(d *design) core.Finding {
	const files = "the memory, environment and descriptors of other processes of the user can be read below /proc"
	switch {
	case d.domain():
		// Landlock's hook is on ptrace_may_access, through which all of these go. Two
		// capabilities pass it: with CAP_PERFMON mm_access lets through what /proc
		// shows of another's memory (kernel/fork.c; Linux 6.12 does not do so, 6.18
		// does), and with CAP_SYS_RAWIO /proc/kcore shows all memory. They are dropped.
		return d.withoutCapabilities(d.enforced(true, d.filtered(seccomp.GroupTracing)))
	case d.filtered(seccomp.GroupTracing):
		f := d.lacksLandlock(core.Partial, wholeFS, files)
		f.Mechanism = d.mechanism(false, true)
		return f
	}
	return d.lacksLandlock(core.Unsupported, wholeFS, "other processes of the user can be traced, and "+files)
}

func terminalFinding(d *design) core.Finding {
	if d.filtered(seccomp.GroupTerminal) {
		return d.enforced(false, true)
	}
	return d.lacksFilter(core.Unsupported, "input can be forged on the terminal (TIOCSTI, TIOCLINUX)")
}

func privilegesFinding(d *design) core.Finding {
	const all = seccomp.GroupMounts | seccomp.GroupNamespaces | seccomp.GroupKernel | seccomp.GroupKeyrings |
		seccomp.GroupIPC | seccomp.GroupIOUring
	switch {
	case d.filtered(all):
		f := d.withoutCapabilities(d.enforced(d.policy.Filesystem.Confined, true))
		if kept := keptText(^d.left()); kept != "" {
			f.Gap = "the command keeps " + kept
		}
		return f
	case d.handles(wholeFS):
		f := d.lacksFilter(core.Partial, "mounts cannot be changed; namespaces, keyrings, System V IPC and the kernel's administrative calls are open")
		f.Mechanism = d.mechanism(true, false) + ", no_new_privs"
		return f
	}
	f := d.lacksFilter(core.Partial, "programs gain no privileges by being executed; mounts, namespaces, keyrings, System V IPC and the kernel's administrative calls are open")
	f.Mechanism = "no_new_privs"
	return f
}
