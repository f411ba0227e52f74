//go:build unix

package backend

import (
	"io/fs"
	"os"
	"syscall"
)

// writableByOthers reports whether anybody but the owner may write to the file.
// Its group does not count where it is root's or this user's own primary one,
// in which by custom nobody else is.
func writableByOthers(info fs.FileInfo) bool {
	mode := info.Mode().Perm()
	if mode&0o002 != 0 {
		return true
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	ours := ok && (stat.Gid == 0 || int(stat.Gid) == os.Getegid())
	return mode&0o020 != 0 && !ours
}

// ownedSafely reports whether the file belongs to root or to this user.
func ownedSafely(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && (stat.Uid == 0 || int(stat.Uid) == os.Geteuid())
}
