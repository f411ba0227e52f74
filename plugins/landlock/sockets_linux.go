package landlock

import (
	"fmt"
	"strconv"

	llsys "github.com/landlock-lsm/go-landlock/landlock/syscall"

	"github.com/pinfold/pinfold/core"
)

// addPorts grants the TCP ports of the policy, and reports on each.
func (b *builder) addPorts() ([]core.Finding, error) {
	var findings []core.Finding
	add := func(verb string, port uint16, right uint64) error {
		rule := verb + " TCP port " + strconv.Itoa(int(port))
		if !b.ports {
			f := b.lacksLandlock(core.Unsupported, tcpPorts, "the port was not granted: this kernel cannot tell ports apart, so the network is closed altogether")
			if b.filter == nil {
				f.Gap = "this kernel cannot tell ports apart"
			}
			f.Dimension, f.Rule = core.Network, rule
			findings = append(findings, f)
			return nil
		}
		err := llsys.LandlockAddNetPortRule(int(b.ruleset.Fd()), &llsys.NetPortAttr{AllowedAccess: right, Port: uint64(port)}, 0)
		if err != nil {
			return planError("", "the kernel does not take a Landlock rule for a TCP port", err)
		}
		b.lines = append(b.lines, fmt.Sprintf("port %d: %s", port, bitNames(right, netRightNames)))
		findings = append(findings, core.Finding{Dimension: core.Network, Rule: rule, Level: core.Enforced, Mechanism: b.mechanism(true, true)})
		return nil
	}
	for _, port := range b.policy.Network.Connect {
		if err := add("connect", port, llsys.AccessNetConnectTCP); err != nil {
			return nil, err
		}
	}
	for _, port := range b.policy.Network.Bind {
		if err := add("bind", port, llsys.AccessNetBindTCP); err != nil {
			return nil, err
		}
	}
	return findings, nil
}

// addSockets grants the unix sockets of the policy, and reports on each.
func (b *builder) addSockets() ([]core.Finding, error) {
	var findings []core.Finding
	for _, path := range b.policy.Unix.Connect {
		f, err := b.addSocket(path)
		if err != nil {
			return nil, err
		}
		f.Dimension = core.UnixSockets
		findings = append(findings, f)
	}
	return findings, nil
}

func (b *builder) addSocket(path string) (core.Finding, error) {
	rule := "connect " + pathText(path)
	if !b.unixPaths {
		f := b.lacksLandlock(core.Unsupported, pathUnix, "the socket was not granted: this kernel cannot tell sockets apart by path, so all are closed")
		if b.filter == nil {
			f.Gap = "this kernel cannot tell sockets apart by path"
		}
		f.Rule = rule
		return f, nil
	}
	f := core.Finding{Rule: rule, Level: core.Enforced, Mechanism: b.mechanism(true, false)}
	t, err := open(path)
	if err != nil {
		return skippedOr(f, err)
	}
	defer t.close()
	if t.place != path {
		f.Rule += " (" + pathText(t.place) + ")"
	}
	for _, bar := range b.barred {
		if bar.found != nil && bar.found.id == t.id || bar.place == t.place {
			f.Level, f.Mechanism = core.Unsupported, ""
			f.Gap = "the socket was not granted: the tracker forbids it, as a process could leave the session through it"
			return f, nil
		}
	}
	if !t.socket {
		f.Level, f.Mechanism, f.Gap = core.Skipped, "", "is not a socket; nothing was granted"
		return f, nil
	}
	return f, b.addRights(t, llsys.AccessFSResolveUnix&b.handled.fs)
}
