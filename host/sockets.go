package host

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"time"
)

// abandonedAfter is how old the directory of a backend's socket must be for a
// sweep to look into it: a younger one may be about to be used.
const abandonedAfter = time.Minute

// sweepSockets removes the directories of sockets on which no backend listens.
// A backend that ends removes its own; one that is killed together with its host
// cannot, and the names, which are go-plugin's, do not tell of an owner.
func sweepSockets(parent string) error {
	dirs, err := filepath.Glob(filepath.Join(parent, "plugin-dir*"))
	if err != nil {
		return err
	}
	var errs []error
	for _, dir := range dirs {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || time.Since(info.ModTime()) < abandonedAfter || hasListener(dir) {
			continue
		}
		errs = append(errs, missingIsFine(os.RemoveAll(dir)))
	}
	return errors.Join(errs...)
}

// hasListener reports whether there is a socket in dir of which the system does
// not say that nobody listens on it.
func hasListener(dir string) bool {
	sockets, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return true
	}
	for _, path := range sockets {
		conn, err := net.Dial("unix", path)
		if err == nil {
			conn.Close() // the backend refuses everybody but its host
			return true
		}
		if !refusesConnections(err) {
			return true
		}
	}
	return false
}
