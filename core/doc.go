// Package core is the vocabulary of Pinfold: what a host, a confiner and a
// tracker say to each other.
//
// A [Policy] says what a command may do. A [Confiner] turns it into a [Plan]:
// the [Birth] that confines a process, and an [Enforcement] that says honestly
// how much of the policy the kernel will hold. A [Tracker] opens a session,
// says how a process becomes a member of it, and ends every member. Confiners
// and trackers are backends: they run in processes of their own, and neither
// ever starts the command. The host does.
//
// Everything here is a plain value or an interface. Nothing in this package
// reads a file, opens a socket or asks the kernel; the only live things are the
// open files that a Birth carries.
//
// One rule governs every type: fail closed. An unknown enumeration value, an
// unknown feature, a rule that cannot be enforced is an error, never a default.
package core
