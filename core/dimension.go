package core

import "slices"

// A Dimension is one respect in which a session is confined or tracked. It is
// the unit in which a policy requires, a backend promises and a report answers.
type Dimension string

// The dimensions of contract version 1.
const (
	// FSRead: files are read and directories listed only where granted.
	FSRead Dimension = "fs.read"
	// FSWrite: files are written, created, renamed and removed only where granted.
	FSWrite Dimension = "fs.write"
	// FSExecute: programs are executed only where granted.
	FSExecute Dimension = "fs.execute"
	// FSMetadata: modes, owners, times and extended attributes change only
	// where writing is granted.
	FSMetadata Dimension = "fs.metadata"
	// Network: nothing is sent or received over any socket family but unix,
	// except as granted.
	Network Dimension = "network"
	// UnixSockets: no unix socket of another process is reached, by path or
	// abstract name, except as granted.
	UnixSockets Dimension = "unix"
	// Environment: the command sees only the variables that the policy passes.
	Environment Dimension = "environment"
	// Descriptors: the command inherits only the descriptors it was given.
	Descriptors Dimension = "descriptors"
	// Cleanup: every process of the session can be found and killed, and none
	// can leave the session.
	Cleanup Dimension = "cleanup"
	// Signals: no process outside the session is signalled.
	Signals Dimension = "signals"
	// Tracing: no process outside the session is traced, nor its memory,
	// environment or descriptors read.
	Tracing Dimension = "tracing"
	// Terminal: no input is forged on the controlling terminal.
	Terminal Dimension = "terminal"
	// Privileges: no mount, namespace, kernel module or other kernel facility
	// by which a process could undo its confinement.
	Privileges Dimension = "privileges"
	// Limits: the processes and the memory of the session are bounded.
	Limits Dimension = "limits"
)

var dimensions = []Dimension{
	FSRead, FSWrite, FSExecute, FSMetadata, Network, UnixSockets, Environment,
	Descriptors, Cleanup, Signals, Tracing, Terminal, Privileges, Limits,
}

// Dimensions returns every dimension of contract version 1, in the order in
// which reports list them.
func Dimensions() []Dimension { return slices.Clone(dimensions) }

// Valid reports whether d is a dimension of contract version 1.
func (d Dimension) Valid() bool { return slices.Contains(dimensions, d) }
