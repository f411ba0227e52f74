//go:build unix

package host

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

func ownedByMe(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// refusesConnections reports whether err says that nobody listens on a socket.
func refusesConnections(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
