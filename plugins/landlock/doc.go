// Package landlock is the confiner of Linux: it turns a policy into a Landlock
// ruleset, a seccomp filter and, where a denial needs them, private mounts.
//
// # Who does what
//
// The package computes and never restricts the process it runs in. [Confiner.Plan]
// opens the paths of the policy, builds a ruleset with landlock_create_ruleset(2)
// and landlock_add_rule(2) and compiles a filter; the child that the host bears
// applies both to itself. A plan may therefore be used for any number of launches,
// and the confiner may be gone by then.
//
// Landlock holds what can be said of files by their place in the tree, of TCP
// ports, signals and abstract sockets. The filter (package seccomp) closes what
// Landlock leaves open: other socket families and protocols, io_uring, tracing
// calls, mounts, namespaces, the kernel's administration, typing into terminals.
//
// # Kernels
//
// What each Landlock ABI handles is a table (abi.go), and everything else asks
// the table: which rights to handle, what a report says the machine has, and what
// it would take. A dimension that an ABI cannot hold is Unsupported or Partial in
// the plan's Enforcement; it is never left out in silence. Where the choice is
// between denying more than was asked and granting more, the plan denies more and
// says so: unix sockets granted by path stay closed below ABI 9, and ports stay
// closed below ABI 4.
//
// # Paths
//
// A path is opened once, with O_PATH, and the rule is about the object found
// there, wherever it may be moved to. Symbolic links on the way are followed once
// and the result is in the report. A path that does not exist is skipped; its
// parent is not granted in its place. Replacing the object afterwards (by a rename
// from outside) takes the grant away with it.
//
// Access to a file through another name is access to the same file: a hard link
// below a granted directory carries that directory's rights. Landlock forbids
// making such links (and renames) when the file would gain rights by it
// (LANDLOCK_ACCESS_FS_REFER, Linux 5.19, commit b91c3e4ea756), but one that exists
// already counts.
//
// # Denials
//
// Landlock adds up grants and has no denials. A rule that denies a whole grant
// removes it. A rule that denies a part of one needs a mount namespace, and so
// CAP_SYS_ADMIN: the denied part is hidden behind an empty node, or bound to
// itself read-only, before Landlock forbids all changes of mounts. The writable
// directories that lead to it are bound to themselves, so that they cannot be moved
// aside and replaced. Without the capability the rule is reported as unsupported.
//
// # Root
//
// A process with root's capabilities passes checks that protect others. A policy
// that confines files or processes therefore leaves it but a few (capabilities.go),
// with which it can still work on files and as other users. Some of the others pass
// Landlock itself: with CAP_PERFMON newer kernels show the environment of every
// process, with CAP_SYS_RAWIO all memory, in /proc/kcore.
//
// The few that it keeps pass the permission bits of files, so that /etc is granted
// by a list of names instead of whole (system.go).
package landlock
