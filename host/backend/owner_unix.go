//go:build unix

package backend

import (
	"io/fs"
	"os"
	"syscall"
)

// ownedSafely reports whether the file belongs to root or to this user.
func ownedSafely(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && (stat.Uid == 0 || int(stat.Uid) == os.Geteuid())
}
