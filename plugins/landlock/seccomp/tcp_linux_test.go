package seccomp

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// listenTCP is a plain TCP server on the loopback.
func listenTCP(t *testing.T) *net.TCPListener {
	t.Helper()
	var lc net.ListenConfig
	lc.SetMultipathTCP(false)
	l, err := lc.Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.(*net.TCPListener)
}

func portOf(l net.Listener) string {
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// dialFile connects to the server and returns the client's end as a file.
func dialFile(t *testing.T, l net.Listener) *os.File {
	t.Helper()
	conn, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	f, err := conn.(*net.TCPConn).File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// pending tells whether a client has connected. On the loopback the connection
// is in the queue when the client's connect(2) returns.
func pending(t *testing.T, l *net.TCPListener) bool {
	t.Helper()
	raw, err := l.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var n int
	var pollErr error
	if err := raw.Control(func(fd uintptr) {
		n, pollErr = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	}); err != nil {
		t.Fatal(err)
	}
	if pollErr != nil {
		t.Fatal(pollErr)
	}
	return n > 0
}

func init() {
	tasks["dial"] = func(args []string) results { return results{"dial": result(dial(args[0], false))} }
	tasks["dial mptcp"] = func(args []string) results { return results{"dial": result(dial(args[0], true))} }
	tasks["listen"] = func([]string) results {
		l, err := net.Listen("tcp4", "127.0.0.1:0") // asks for MPTCP first
		if err == nil {
			l.Close()
		}
		return results{"listen": result(err)}
	}
	tasks["fast open"] = func(args []string) results {
		port, _ := strconv.Atoi(args[0])
		to := &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}
		r := make(results)
		tcp := func(name string, try func(fd int) error) {
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
			if err == nil {
				err = try(fd)
				unix.Close(fd)
			}
			r[name] = result(err)
		}
		text := []byte("hello")
		tcp("sendto", func(fd int) error { return unix.Sendto(fd, text, unix.MSG_FASTOPEN, to) })
		tcp("sendmsg", func(fd int) error { return unix.Sendmsg(fd, text, nil, to, unix.MSG_FASTOPEN) })
		tcp("sendmmsg", func(fd int) error {
			_, errno := rawCall("sendmmsg", uintptr(fd), 0, 0, unix.MSG_FASTOPEN|unix.MSG_NOSIGNAL|upperHalf)
			return errno
		})
		tcp("client option", func(fd int) error {
			return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_FASTOPEN_CONNECT, 1)
		})
		tcp("server option", func(fd int) error { return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_FASTOPEN, 1) })
		tcp("upper layer protocol", func(fd int) error {
			// Without a filter this fails for want of a connection, or of the module.
			return unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_ULP, "tls")
		})
		tcp("nodelay", func(fd int) error { return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1) })
		// The same number at another level is another option, IP_MULTICAST_TTL.
		tcp("same number, other level", func(fd int) error {
			_, errno := rawCall("setsockopt", uintptr(fd), unix.SOL_SOCKET, unix.TCP_FASTOPEN_CONNECT, 0, 0)
			return errno
		})
		return r
	}
}

// dial connects and reads until the server closes.
func dial(address string, multipath bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var d net.Dialer
	d.SetMultipathTCP(multipath)
	conn, err := d.DialContext(ctx, "tcp4", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if multipath {
		// Go falls back to TCP by itself.
		if used, err := conn.(*net.TCPConn).MultipathTCP(); used || err != nil {
			return errors.Join(errors.New("connected by MPTCP"), err)
		}
	}
	text, err := io.ReadAll(conn)
	if err == nil && string(text) != "hello" {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// serve greets every client.
func serve(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		io.WriteString(conn, "hello")
		conn.Close()
	}
}

func TestTCP(t *testing.T) {
	requireSeccomp(t)
	l := listenTCP(t)
	go serve(l)
	for _, c := range []struct {
		name, task string
		o          Options
		want       string
	}{
		{"dial, tcp", "dial", Options{Network: NetworkTCP}, "ok"},
		{"dial with mptcp, tcp", "dial mptcp", Options{Network: NetworkTCP}, "ok"},
		{"dial, all", "dial", Options{Network: NetworkAll}, "ok"},
		{"dial, off", "dial", Options{}, "EACCES"},
		{"dial, off, unix open", "dial", Options{Unix: UnixOpen}, "EACCES"},
		{"listen, tcp", "listen", Options{Network: NetworkTCP}, "EACCES"},
		{"listen, tcp and listening", "listen", Options{Network: NetworkTCP, Listen: true}, "ok"},
		{"listen, all", "listen", Options{Network: NetworkAll}, "ok"},
		{"listen, off", "listen", Options{}, "EACCES"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := inChild(t, job{Task: c.task, Args: []string{l.Addr().String()}, Options: c.o})
			for what, got := range r {
				if got != c.want {
					t.Errorf("%s: %s, want %s", what, got, c.want)
				}
			}
		})
	}
	for _, task := range []string{"dial", "listen"} {
		for what, got := range inChild(t, job{Task: task, Args: []string{l.Addr().String()}, Control: true}) {
			if got != "ok" {
				t.Errorf("%s without a filter: %s", what, got)
			}
		}
	}
}

// TestFastOpen: the calls that connect past Landlock's hook don't.
func TestFastOpen(t *testing.T) {
	requireSeccomp(t)
	want := results{
		"sendto": "EOPNOTSUPP", "sendmsg": "EOPNOTSUPP", "sendmmsg": "EOPNOTSUPP",
		"client option": "EOPNOTSUPP", "server option": "EOPNOTSUPP", "upper layer protocol": "ENOENT",
	}
	l := listenTCP(t)
	control := inChild(t, job{Task: "fast open", Args: []string{portOf(l)}, Control: true})
	if !pending(t, l) || control["sendto"] != "ok" {
		t.Skipf("fast open does not connect without a filter either: %v", control)
	}
	for _, unixMode := range []UnixMode{UnixClosed, UnixOpen} {
		l := listenTCP(t)
		confined := inChild(t, job{Task: "fast open", Args: []string{portOf(l)}, Options: Options{Network: NetworkTCP, Unix: unixMode}})
		if pending(t, l) {
			t.Error("the server was reached")
		}
		for name, got := range confined {
			expect, closed := want[name]
			if !closed {
				expect = control[name]
			}
			if got != expect && !sameErrno(got, expect) {
				t.Errorf("%s: %s, want %s (without a filter %s)", name, got, expect, control[name])
			}
		}
	}
}

// sameErrno: two names of one number, EOPNOTSUPP and ENOTSUP.
func sameErrno(got, want string) bool {
	return want == "EOPNOTSUPP" && got == result(syscall.EOPNOTSUPP)
}
