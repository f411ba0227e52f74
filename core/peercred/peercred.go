// Package peercred authenticates the two ends of a plugin connection by the
// process id that the kernel vouches for.
//
// A backend's socket lies in a directory that only its user can reach, but the
// commands of a session run as the same user, and Landlock does not restrict
// connecting to path sockets before ABI 9. Without a check of the peer any of
// them could call the backend, or tell go-plugin's own controller service to
// shut down. With it, only the host can; and the host talks only to the process
// that it started. The kernel fixes the answer when the socket is connected
// (SO_PEERCRED of unix(7); LOCAL_PEERPID on macOS), so there is no secret to
// leak and nothing to exchange.
package peercred

import (
	"context"
	"errors"
	"fmt"
	"net"

	"google.golang.org/grpc/credentials"

	"github.com/pinfold/pinfold/core/lifeline"
)

// AuthInfo is the authenticated pid of the other side, as gRPC's peer package
// shows it to handlers.
type AuthInfo struct {
	credentials.CommonAuthInfo
	PID int
}

// AuthType implements [credentials.AuthInfo].
func (AuthInfo) AuthType() string { return "pinfold-peer-pid" }

// New returns transport credentials that accept one process alone on the other
// end. The function returns its pid; it is called for every handshake, because
// a host knows its backend's pid only after it has set up the connection.
func New(peer func() (int, error)) credentials.TransportCredentials {
	return &transport{peer: peer}
}

type transport struct {
	peer func() (int, error)
}

func (t *transport) ClientHandshake(_ context.Context, _ string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return t.handshake(conn)
}

func (t *transport) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return t.handshake(conn)
}

func (t *transport) handshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	want, err := t.peer()
	if err != nil {
		return nil, nil, fmt.Errorf("peercred: %w", err)
	}
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, nil, fmt.Errorf("peercred: a %s connection does not tell its peer", conn.RemoteAddr().Network())
	}
	raw, err := unixConn.SyscallConn()
	if err != nil {
		return nil, nil, fmt.Errorf("peercred: %w", err)
	}
	var got int
	var pidErr error
	if err := raw.Control(func(fd uintptr) { got, pidErr = lifeline.PeerPID(int(fd)) }); err != nil {
		return nil, nil, fmt.Errorf("peercred: %w", err)
	}
	if pidErr != nil {
		return nil, nil, fmt.Errorf("peercred: the system does not tell the peer: %w", pidErr)
	}
	if want <= 0 || got != want {
		return nil, nil, fmt.Errorf("peercred: process %d is at the other end, and only %d may be", got, want)
	}
	return conn, AuthInfo{
		CommonAuthInfo: credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity},
		PID:            got,
	}, nil
}

func (t *transport) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "pinfold-peer-pid"}
}

func (t *transport) Clone() credentials.TransportCredentials { return &transport{peer: t.peer} }

func (t *transport) OverrideServerName(string) error {
	return errors.New("peercred: a unix socket has no server name")
}
