//go:build unix && !linux && !darwin

package lifeline

import (
	"errors"
	"runtime"
)

// PeerPID fails: this platform does not tell the peer.
func PeerPID(int) (int, error) {
	return 0, errors.New("there is no way known to tell the peer of a socket on " + runtime.GOOS)
}
