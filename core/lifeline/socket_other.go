//go:build !unix

package lifeline

import (
	"errors"
	"os"
	"runtime"
)

var errPlatform = errors.New("lifeline: descriptors cannot be passed between processes on " + runtime.GOOS)

const controlSize = 0

// Pair fails: there is no lifeline on this platform.
func Pair() (host *Conn, backend *os.File, err error) { return nil, nil, errPlatform }

// Inherited fails: there is no lifeline on this platform.
func Inherited() (*Conn, int, error) { return nil, 0, errPlatform }

// PeerPID fails: this platform does not tell the peer.
func PeerPID(int) (int, error) { return 0, errPlatform }

func rights(int) []byte { return nil }

func received([]byte) ([]*os.File, error) { return nil, errPlatform }
