package seccomp

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestUnixNamesUnreachable: with unix sockets closed no named socket of the
// host is reached, whatever kind of socket is tried, and pairs still work.
func TestUnixNamesUnreachable(t *testing.T) {
	requireSeccomp(t)
	for _, c := range []struct {
		name    string
		o       Options
		control bool
		reach   bool
	}{
		{"control", Options{}, true, true},
		{"off", Options{}, false, false},
		{"tcp", Options{Network: NetworkTCP, Listen: true}, false, false},
		{"all", Options{Network: NetworkAll}, false, false},
		{"unfiltered", Options{Network: NetworkUnfiltered}, false, false},
		{"open", Options{Unix: UnixOpen}, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := namedSockets(t)
			r := inChild(t, job{Task: "unix names", Args: s.names, Control: c.control, Options: c.o})
			for _, pair := range []string{"pair stream", "pair seqpacket"} {
				if r[pair] != "ok" {
					t.Errorf("%s: %s", pair, r[pair])
				}
			}
			worked := 0
			for what, got := range r {
				if got == "ok" && !strings.HasPrefix(what, "pair ") {
					worked++
					if !c.reach {
						t.Errorf("%s worked", what)
					}
				}
			}
			if got := s.reached(t); got != c.reach {
				t.Errorf("a socket of the host was reached: %v, want %v", got, c.reach)
			}
			t.Logf("%d of %d ways worked", worked, len(r)-2)
		})
	}
}

// servers are sockets that a confined process should not reach: datagram and
// stream ones, with a path and with an abstract name.
type servers struct {
	names []string
	fds   []int
}

func namedSockets(t *testing.T) *servers {
	t.Helper()
	dir, err := filepath.Abs(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &servers{}
	for _, kind := range []int{unix.SOCK_DGRAM, unix.SOCK_STREAM, unix.SOCK_SEQPACKET} {
		for _, name := range []string{
			filepath.Join(dir, fmt.Sprint(kind)),
			fmt.Sprintf("@pinfold-seccomp-test%s-%d", strings.ReplaceAll(dir, "/", "-"), kind),
		} {
			fd, err := unix.Socket(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { unix.Close(fd) })
			if err := unix.Bind(fd, &unix.SockaddrUnix{Name: name}); err != nil {
				t.Fatal(err)
			}
			if kind != unix.SOCK_DGRAM {
				if err := unix.Listen(fd, 16); err != nil {
					t.Fatal(err)
				}
			}
			s.names, s.fds = append(s.names, name), append(s.fds, fd)
		}
	}
	return s
}

// reached tells whether a datagram or a connection has come in.
func (s *servers) reached(t *testing.T) bool {
	t.Helper()
	var polls []unix.PollFd
	for _, fd := range s.fds {
		polls = append(polls, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
	}
	n, err := unix.Poll(polls, 0)
	if err != nil {
		t.Fatal(err)
	}
	return n > 0
}

func init() {
	tasks["unix names"] = func(names []string) results {
		r := make(results)
		for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.SOCK_RAW, unix.SOCK_SEQPACKET} {
			single := func() (int, func(), error) {
				fd, err := unix.Socket(unix.AF_UNIX, kind|unix.SOCK_NONBLOCK, 0)
				return fd, func() { unix.Close(fd) }, err
			}
			pair := func() (int, func(), error) {
				fds, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_NONBLOCK, 0)
				return fds[0], func() { unix.Close(fds[0]); unix.Close(fds[1]) }, err
			}
			orphan := func() (int, func(), error) {
				fds, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_NONBLOCK, 0)
				if err == nil {
					unix.Close(fds[1])
				}
				return fds[0], func() { unix.Close(fds[0]) }, err
			}
			for _, name := range names {
				to := &unix.SockaddrUnix{Name: name}
				for how, make := range map[string]func() (int, func(), error){"socket": single, "end of a pair": pair, "orphan": orphan} {
					for what, act := range map[string]func(fd int) error{
						"connect": func(fd int) error { return unix.Connect(fd, to) },
						"sendto":  func(fd int) error { return ignoredName(kind, unix.Sendto(fd, []byte("x"), unix.MSG_NOSIGNAL, to)) },
						"sendmsg": func(fd int) error {
							return ignoredName(kind, unix.Sendmsg(fd, []byte("x"), nil, to, unix.MSG_NOSIGNAL))
						},
					} {
						fd, done, err := make()
						if err == nil {
							err = act(fd)
							done()
						}
						r[fmt.Sprintf("%s on %s of type %d to %s", what, how, kind, name)] = result(err)
					}
				}
			}
		}
		r["pair stream"] = result(pairTalks(unix.SOCK_STREAM))
		r["pair seqpacket"] = result(pairTalks(unix.SOCK_SEQPACKET))
		return r
	}
}

// ignoredName: the kernel ignores the name that a message on a SOCK_SEQPACKET
// socket carries and delivers to the peer (unix_seqpacket_sendmsg).
func ignoredName(kind int, err error) error {
	if kind == unix.SOCK_SEQPACKET && err == nil {
		return net.ErrWriteToConnected
	}
	return err
}

func pairTalks(kind int) error {
	fds, err := unix.Socketpair(unix.AF_UNIX, kind, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fds[0])
	defer unix.Close(fds[1])
	if _, err := unix.Write(fds[0], []byte("ping")); err != nil {
		return err
	}
	var b [8]byte
	n, err := unix.Read(fds[1], b[:])
	if err == nil && string(b[:n]) != "ping" {
		return fmt.Errorf("read %q", b[:n])
	}
	return err
}
