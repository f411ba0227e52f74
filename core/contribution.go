package core

import "crypto/sha256"

// A Contribution is a piece of mechanism that one backend asks another to
// carry: a tracker's rules inside a confiner's profile, for one. It is opaque
// to the host.
type Contribution struct {
	// Dialect names the format and its version ("seatbelt/sbpl@1"). A confiner
	// refuses a dialect that it does not know.
	Dialect string
	Data    []byte
}

// A Digest is the SHA-256 of a contribution's dialect and data.
type Digest [sha256.Size]byte

// Digest returns what a confiner echoes to show that it carries c.
func (c Contribution) Digest() Digest {
	h := sha256.New()
	h.Write([]byte(c.Dialect))
	h.Write([]byte{0})
	h.Write(c.Data)
	return Digest(h.Sum(nil))
}

// ConstraintKind says what a tracker needs the confiner to guarantee.
type ConstraintKind int

// The kinds of constraint. A confiner answers a kind that it does not know with
// an error of reason [ErrUnknownFeature].
const (
	// NoWriteBelow: no file at or below Path is written, whatever the policy
	// grants.
	NoWriteBelow ConstraintKind = iota + 1
	// NoConnect: the unix socket at Path is not reached, whatever the policy
	// grants. Path need not exist.
	NoConnect
)

// A Constraint is what a tracker needs so that no process can leave its session.
type Constraint struct {
	Kind ConstraintKind
	Path string
	// Why is the harm done without it, for reports ("a process could move
	// itself to another cgroup").
	Why string
}

// A ConstraintFinding is a confiner's answer to one constraint.
type ConstraintFinding struct {
	Constraint Constraint
	// Honoured is true only if the kernel holds the constraint.
	Honoured bool
	// Gap and Remedy say why not, and what a person can do.
	Gap    string
	Remedy string
}

// A Wrapper is a program put in front of the command, for mechanisms that need
// code of their own in the child. The host executes
//
//	Path Args... COMMAND [ARG...]
//
// The path is absolute. A host accepts only a file of the backend's own package
// or a system path that it was told to allow.
type Wrapper struct {
	Path string
	Args []string
}
