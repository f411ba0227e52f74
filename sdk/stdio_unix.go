//go:build unix

package sdk

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core/wire"
)

// diagnostics is the process's standard error as it was at the start. go-plugin
// later replaces os.Stderr by a pipe of its own.
var diagnostics = os.Stderr

// The first line on standard output is go-plugin's handshake, and anything
// before it, from whatever package, makes the host give up. So in a process that
// a host started, standard output is turned into standard error while packages
// are initialised, and what was standard output is kept for the handshake alone.
// Standard input becomes empty: it may be the terminal of the host.
func init() {
	if os.Getenv(wire.CookieKey) != wire.CookieValue {
		return
	}
	handshake, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return
	}
	if unix.Dup2(2, 1) != nil {
		unix.Close(handshake)
		return
	}
	os.Stdout = os.NewFile(uintptr(handshake), "handshake")
	if null, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0); err == nil {
		unix.Dup2(null, 0)
		unix.Close(null)
	}
}
