package core

import "slices"

// A Policy says what the commands of a session may do. The zero Policy is
// invalid; start from a preset ([ReadOnly], [WorkspaceWrite], [Unrestricted])
// and add to it.
//
// A Policy is a value: a host settles it (paths made absolute, links resolved)
// before a confiner sees it, and neither changes the caller's.
type Policy struct {
	// Name is the preset or file the policy comes from. It appears in reports
	// and has no other effect.
	Name string
	// Workspace is the absolute path of the directory the work happens in.
	Workspace string

	Filesystem  Filesystem
	Network     NetworkPolicy
	Unix        UnixPolicy
	Environment EnvironmentPolicy
	Limits      LimitsPolicy

	// Confine asks for the dimensions that have no rules of their own:
	// signals, tracing, terminal, privileges, descriptors. Presets that confine
	// set it.
	Confine bool

	// Require lists the dimensions without which no command may start. Every
	// other dimension that the policy asks for is wanted: what is lost of it
	// is reported.
	Require []Dimension

	// BestEffort lets commands start although a required dimension or a rule
	// could not be enforced. What was lost is in the report all the same.
	BestEffort bool
}

// Filesystem is the part of a policy about files.
type Filesystem struct {
	// Confined denies every access that no rule grants. When it is false the
	// rules must be empty and no access is restricted.
	Confined bool
	// System grants the paths of the platform that programs need to run at all
	// (libraries, system programs, null devices, terminals). The confiner knows
	// them, and lists each in its report.
	System bool
	// Rules grant and deny. Order has no meaning: a denial always beats a grant.
	Rules []PathRule
}

// Access is a set of file accesses.
type Access uint32

// The accesses a PathRule can name.
const (
	// Read is reading files and listing directories.
	Read Access = 1 << iota
	// Write is writing, creating, renaming and removing.
	Write
	// Execute is executing programs. It implies nothing about reading.
	Execute
)

// AllAccess is every access there is.
const AllAccess = Read | Write | Execute

// A PathRule grants or denies accesses to a path and to everything below it.
type PathRule struct {
	// Path is absolute and clean in a settled policy.
	Path string
	// Access is what the rule is about; at least one bit.
	Access Access
	// Deny takes the accesses away instead of granting them.
	Deny bool
	// Optional rules are skipped when the path does not exist without the skip
	// being worth a person's attention; either way it is reported.
	Optional bool
	// Origin says where the rule comes from ("--read", "preset", "policy.toml:7").
	Origin string
}

// NetworkMode says how much of the network a session reaches.
type NetworkMode int

// The network modes. The zero value is invalid on purpose, so that a forgotten
// field cannot mean "all".
const (
	// NetworkNone is no socket of any family but unix.
	NetworkNone NetworkMode = iota + 1
	// NetworkPorts is TCP to and on the listed ports, nothing else.
	NetworkPorts
	// NetworkAll is IPv4 and IPv6 without restriction.
	NetworkAll
	// NetworkUnconfined does not ask the confiner for anything.
	NetworkUnconfined
)

// NetworkPolicy is the part of a policy about sockets other than unix sockets.
type NetworkPolicy struct {
	Mode NetworkMode
	// Connect and Bind are TCP ports, for NetworkPorts. Bind port 0 is the
	// kernel's choice of an ephemeral port.
	Connect []uint16
	Bind    []uint16
}

// UnixMode says how unix sockets of other processes are treated.
type UnixMode int

// The unix socket modes. The zero value is invalid on purpose.
const (
	// UnixNone reaches no unix socket outside the session, but those listed.
	UnixNone UnixMode = iota + 1
	// UnixUnconfined does not ask the confiner for anything.
	UnixUnconfined
)

// UnixPolicy is the part of a policy about unix sockets. Socket pairs are
// always allowed.
type UnixPolicy struct {
	Mode UnixMode
	// Connect lists the absolute paths of sockets that may be connected to.
	Connect []string
}

// EnvironmentPolicy says which variables a command sees.
type EnvironmentPolicy struct {
	// InheritAll passes the host's whole environment but for the variables that
	// belong to the plugin protocol. When it is false only Pass is passed.
	InheritAll bool
	// Pass lists names to pass from the host's environment. A name may end in
	// "*".
	Pass []string
	// Set lists NAME=VALUE pairs, which win over what was passed.
	Set []string
}

// LimitsPolicy bounds a session. A zero field is no limit.
type LimitsPolicy struct {
	// Processes is the largest number of processes and threads of the session
	// alive at once. The tracker enforces it.
	Processes uint64
	// Memory is the largest amount of memory in bytes that all processes of the
	// session hold together. The tracker enforces it.
	Memory uint64
	// OpenFiles (descriptors) and FileSize (bytes) bound each process.
	OpenFiles uint64
	FileSize  uint64
	// NoCore forbids core dumps.
	NoCore bool
}

// Requires reports whether d is a required dimension of the policy.
func (p *Policy) Requires(d Dimension) bool { return slices.Contains(p.Require, d) }

// Asks reports whether the policy asks for anything in dimension d, required
// or wanted.
func (p *Policy) Asks(d Dimension) bool {
	if p.Requires(d) {
		return true
	}
	switch d {
	case FSRead, FSWrite, FSExecute, FSMetadata:
		return p.Filesystem.Confined
	case Network:
		return p.Network.Mode != NetworkUnconfined
	case UnixSockets:
		return p.Unix.Mode != UnixUnconfined
	case Environment:
		return !p.Environment.InheritAll
	case Cleanup, Descriptors:
		return true
	case Signals, Tracing, Terminal, Privileges:
		return p.Confine
	case Limits:
		return p.Limits != LimitsPolicy{}
	}
	return false
}

// Confines reports whether the policy asks a confiner for anything at all.
func (p *Policy) Confines() bool {
	return p.Confine || p.Filesystem.Confined ||
		p.Network.Mode != NetworkUnconfined || p.Unix.Mode != UnixUnconfined
}
