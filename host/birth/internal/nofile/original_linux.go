//go:build amd64 || arm64

// Package nofile remembers the limit on open files (RLIMIT_NOFILE) that this
// process was started with.
//
// Go raises the soft limit of its own process when it starts (go.dev/issue/46279,
// package syscall's init) and gives the original back to the commands that
// package syscall starts. What it remembers is private to it. Whoever starts a
// command by other means reads it here; a command with the raised limit would
// break on select(2) and close a million descriptors one by one.
//
// The package reads the limit before package syscall changes it: since Go 1.21
// packages whose imports are initialised are initialised in the order of their
// import paths, and a package without imports and with this path comes before
// "syscall". A test of host/birth fails if that ever changes. So this package
// must not import anything.
package nofile

// A Limit is struct rlimit64 of prlimit(2).
type Limit struct{ Soft, Hard uint64 }

// Original is the limit the process was started with.
var Original = read()

// getrlimit is prlimit64(0, RLIMIT_NOFILE, NULL, limit). It returns the
// kernel's answer, 0 or a negated errno.
func getrlimit(limit *Limit) (answer int)

func read() (limit Limit) {
	if getrlimit(&limit) != 0 {
		return Limit{}
	}
	return limit
}

// Lowered reports whether current, the process's limit now, is the one that Go
// raised for itself and a command should have Original instead. It is not if
// the program chose another limit since.
func Lowered(current Limit) bool {
	return Original.Hard != 0 && Original.Soft < Original.Hard-1 &&
		current.Hard == Original.Hard && current.Soft == current.Hard-1
}
