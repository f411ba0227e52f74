package wire

import (
	"bytes"
	"math"
	"path/filepath"

	"github.com/pinfold/pinfold/core"
	pb "github.com/pinfold/pinfold/core/backendpb"
)

// FromPolicy returns the message for p. The values of variables stay behind.
func FromPolicy(p *core.Policy) *pb.Policy {
	return &pb.Policy{
		Name:      valid(p.Name),
		Workspace: []byte(p.Workspace),
		Filesystem: &pb.Filesystem{
			Confined: p.Filesystem.Confined,
			System:   p.Filesystem.System,
			Rules:    all(p.Filesystem.Rules, fromPathRule),
		},
		Network: &pb.NetworkPolicy{
			Mode:    pb.NetworkMode(p.Network.Mode),
			Connect: all(p.Network.Connect, fromPort),
			Bind:    all(p.Network.Bind, fromPort),
		},
		Unix: &pb.UnixPolicy{
			Mode:    pb.UnixMode(p.Unix.Mode),
			Connect: all(p.Unix.Connect, fromText),
		},
		Environment: &pb.EnvironmentPolicy{
			InheritAll: p.Environment.InheritAll,
			Pass:       all(p.Environment.Pass, valid),
		},
		Limits:     FromLimits(p.Limits),
		Confine:    p.Confine,
		Require:    all(p.Require, func(d core.Dimension) string { return valid(string(d)) }),
		BestEffort: p.BestEffort,
	}
}

// ToPolicy returns the policy in m.
func ToPolicy(m *pb.Policy) (core.Policy, error) {
	if m.GetFilesystem() == nil || m.GetNetwork() == nil || m.GetUnix() == nil || m.GetEnvironment() == nil {
		return core.Policy{}, malformed("a policy lacks its filesystem, network, unix or environment part")
	}
	p := core.Policy{
		Name: m.Name,
		Filesystem: core.Filesystem{
			Confined: m.Filesystem.Confined,
			System:   m.Filesystem.System,
		},
		Network:     core.NetworkPolicy{Mode: core.NetworkMode(m.Network.Mode)},
		Unix:        core.UnixPolicy{Mode: core.UnixMode(m.Unix.Mode)},
		Environment: core.EnvironmentPolicy{InheritAll: m.Environment.InheritAll, Pass: m.Environment.Pass},
		Limits:      ToLimits(m.Limits),
		Confine:     m.Confine,
		BestEffort:  m.BestEffort,
	}
	if p.Network.Mode < core.NetworkNone || p.Network.Mode > core.NetworkUnconfined {
		return core.Policy{}, unknownValue("network mode", int32(m.Network.Mode))
	}
	if p.Unix.Mode < core.UnixNone || p.Unix.Mode > core.UnixUnconfined {
		return core.Policy{}, unknownValue("unix socket mode", int32(m.Unix.Mode))
	}
	if err := fillPolicy(&p, m); err != nil {
		return core.Policy{}, err
	}
	return p, nil
}

func fillPolicy(p *core.Policy, m *pb.Policy) (err error) {
	if p.Workspace, err = toText(m.Workspace); err != nil {
		return err
	}
	if p.Filesystem.Rules, err = each(m.Filesystem.Rules, toPathRule); err != nil {
		return err
	}
	if p.Unix.Connect, err = each(m.Unix.Connect, toPath); err != nil {
		return err
	}
	if p.Network.Connect, err = each(m.Network.Connect, toPort); err != nil {
		return err
	}
	if p.Network.Bind, err = each(m.Network.Bind, toPort); err != nil {
		return err
	}
	p.Require, err = each(m.Require, toDimension)
	return err
}

// PolicyFeatures returns the features that a backend must have to read p.
func PolicyFeatures(p *core.Policy) []string {
	var features []string
	for _, rule := range p.Filesystem.Rules {
		if rule.Deny {
			features = append(features, core.FeatureDenyRules)
			break
		}
	}
	if p.Network.Mode == core.NetworkPorts {
		features = append(features, core.FeatureNetworkPorts)
	}
	if len(p.Unix.Connect) > 0 {
		features = append(features, core.FeatureUnixPaths)
	}
	if p.Limits.OpenFiles != 0 || p.Limits.FileSize != 0 || p.Limits.NoCore {
		features = append(features, core.FeatureProcessLimits)
	}
	return features
}

// FromLimits returns the message for l, nil for none.
func FromLimits(l core.LimitsPolicy) *pb.Limits {
	if l == (core.LimitsPolicy{}) {
		return nil
	}
	return &pb.Limits{
		Processes: l.Processes, Memory: l.Memory,
		OpenFiles: l.OpenFiles, FileSize: l.FileSize, NoCore: l.NoCore,
	}
}

// ToLimits returns the limits in m, which may be nil.
func ToLimits(m *pb.Limits) core.LimitsPolicy {
	return core.LimitsPolicy{
		Processes: m.GetProcesses(), Memory: m.GetMemory(),
		OpenFiles: m.GetOpenFiles(), FileSize: m.GetFileSize(), NoCore: m.GetNoCore(),
	}
}

func fromPathRule(r core.PathRule) *pb.PathRule {
	return &pb.PathRule{
		Path: []byte(r.Path), Access: uint32(r.Access),
		Deny: r.Deny, Optional: r.Optional, Origin: valid(r.Origin),
	}
}

func toPathRule(m *pb.PathRule) (core.PathRule, error) {
	access := core.Access(m.GetAccess())
	if access == 0 || access&^core.AllAccess != 0 {
		return core.PathRule{}, unknownValue("set of accesses", int32(access))
	}
	path, err := toPath(m.Path)
	if err != nil {
		return core.PathRule{}, err
	}
	return core.PathRule{
		Path: path, Access: access,
		Deny: m.Deny, Optional: m.Optional, Origin: m.Origin,
	}, nil
}

func fromText(text string) []byte { return []byte(text) }

// toText returns bytes that become an argument of a system call.
func toText(raw []byte) (string, error) {
	if bytes.IndexByte(raw, 0) >= 0 {
		return "", malformed("%s has a NUL byte in it", quoted(string(raw)))
	}
	return string(raw), nil
}

func toPath(raw []byte) (string, error) {
	path, err := toText(raw)
	if err == nil && !filepath.IsAbs(path) {
		err = malformed("%s is not an absolute path", quoted(path))
	}
	return path, err
}

func fromPort(port uint16) uint32 { return uint32(port) }

func toPort(m uint32) (uint16, error) {
	if m > math.MaxUint16 {
		return 0, malformed("%d is no TCP port", m)
	}
	return uint16(m), nil
}

func toDimension(name string) (core.Dimension, error) {
	d := core.Dimension(name)
	if !d.Valid() {
		return "", &core.Error{
			Reason: core.ErrUnknownFeature,
			Detail: "there is no dimension " + quoted(name) + " that this side knows",
			Remedy: "update the older of host and backend",
		}
	}
	return d, nil
}
