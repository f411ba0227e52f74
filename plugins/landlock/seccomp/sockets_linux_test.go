package seccomp

import (
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// socketModes are the columns of socketCases.
var socketModes = []struct {
	name string
	o    Options
}{
	{"off", Options{}},
	{"off+unix", Options{Unix: UnixOpen}},
	{"tcp", Options{Network: NetworkTCP}},
	{"tcp+unix", Options{Network: NetworkTCP, Unix: UnixOpen}},
	{"all", Options{Network: NetworkAll}},
	{"all+unix", Options{Network: NetworkAll, Unix: UnixOpen}},
	{"unfiltered", Options{Network: NetworkUnfiltered}},
	{"unfiltered+unix", Options{Network: NetworkUnfiltered, Unix: UnixOpen}},
}

const (
	upperHalf = 0x55555555 << 32
	flags     = unix.SOCK_NONBLOCK | unix.SOCK_CLOEXEC
)

// socketCases are calls of socket(2) and socketpair(2). The answers are by mode,
// "=" standing for what the kernel says without a filter.
var socketCases = []struct {
	name                   string
	call                   string
	domain, kind, protocol uintptr
	answers                string
}{
	{"tcp4", "socket", unix.AF_INET, unix.SOCK_STREAM, 0, "EACCES EACCES = = = = = ="},
	{"tcp4 by number", "socket", unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_TCP, "EACCES EACCES = = = = = ="},
	{"tcp4 with flags", "socket", unix.AF_INET, unix.SOCK_STREAM | flags, 0, "EACCES EACCES = = = = = ="},
	{"tcp4 garbage above", "socket", unix.AF_INET | upperHalf, unix.SOCK_STREAM | upperHalf, upperHalf, "EACCES EACCES = = = = = ="},
	{"tcp6", "socket", unix.AF_INET6, unix.SOCK_STREAM, 0, "EACCES EACCES = = = = = ="},
	{"mptcp", "socket", unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP, "EACCES EACCES EPROTONOSUPPORT EPROTONOSUPPORT = = = ="},
	{"mptcp garbage above", "socket", unix.AF_INET | upperHalf, unix.SOCK_STREAM, unix.IPPROTO_MPTCP | upperHalf, "EACCES EACCES EPROTONOSUPPORT EPROTONOSUPPORT = = = ="},
	{"mptcp6 with flags", "socket", unix.AF_INET6, unix.SOCK_STREAM | flags, unix.IPPROTO_MPTCP, "EACCES EACCES EPROTONOSUPPORT EPROTONOSUPPORT = = = ="},
	{"sctp", "socket", unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP, "EACCES EACCES EACCES EACCES = = = ="},
	{"smc by protocol", "socket", unix.AF_INET, unix.SOCK_STREAM, 256, "EACCES EACCES EACCES EACCES = = = ="},
	{"udp4", "socket", unix.AF_INET, unix.SOCK_DGRAM, 0, "EACCES EACCES EACCES EACCES = = = ="},
	{"udp6", "socket", unix.AF_INET6, unix.SOCK_DGRAM, 0, "EACCES EACCES EACCES EACCES = = = ="},
	{"udp4 with flags", "socket", unix.AF_INET, unix.SOCK_DGRAM | flags, 0, "EACCES EACCES EACCES EACCES = = = ="},
	{"raw", "socket", unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP, "EACCES EACCES EACCES EACCES = = = ="},
	{"raw tcp", "socket", unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_TCP, "EACCES EACCES EACCES EACCES = = = ="},
	{"packet by type", "socket", unix.AF_INET, unix.SOCK_PACKET, 0, "EACCES EACCES EACCES EACCES EACCES EACCES = ="},
	{"packet", "socket", unix.AF_PACKET, unix.SOCK_RAW, 0, "EACCES EACCES EACCES EACCES EACCES EACCES = ="},
	{"netlink route", "socket", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE, "EACCES EACCES EACCES EACCES = = = ="},
	{"netlink audit", "socket", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT,
		"EPROTONOSUPPORT EPROTONOSUPPORT EPROTONOSUPPORT EPROTONOSUPPORT EPROTONOSUPPORT EPROTONOSUPPORT = ="},
	{"netlink generic", "socket", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_GENERIC, "EACCES EACCES EACCES EACCES EACCES EACCES = ="},
	{"vsock", "socket", unix.AF_VSOCK, unix.SOCK_STREAM, 0, "EACCES EACCES EACCES EACCES EACCES EACCES = ="},
	{"alg", "socket", unix.AF_ALG, unix.SOCK_SEQPACKET, 0, "EACCES EACCES EACCES EACCES EACCES EACCES = ="},
	{"smc by family", "socket", unix.AF_SMC, unix.SOCK_STREAM, 0, "EACCES EACCES EACCES EACCES EACCES EACCES = ="},
	{"unknown family", "socket", 99, unix.SOCK_STREAM, 0, "EACCES EACCES EACCES EACCES EACCES EACCES = ="},
	{"unix stream", "socket", unix.AF_UNIX, unix.SOCK_STREAM, 0, "EACCES = EACCES = EACCES = EACCES ="},
	{"unix datagram", "socket", unix.AF_UNIX, unix.SOCK_DGRAM, 0, "EACCES = EACCES = EACCES = EACCES ="},
	{"unix garbage above", "socket", unix.AF_UNIX | upperHalf, unix.SOCK_STREAM, 0, "EACCES = EACCES = EACCES = EACCES ="},
	{"pair stream", "socketpair", unix.AF_UNIX, unix.SOCK_STREAM, 0, "= = = = = = = ="},
	{"pair stream with flags", "socketpair", unix.AF_UNIX, unix.SOCK_STREAM | flags, 0, "= = = = = = = ="},
	{"pair seqpacket", "socketpair", unix.AF_UNIX, unix.SOCK_SEQPACKET, 0, "= = = = = = = ="},
	{"pair datagram", "socketpair", unix.AF_UNIX, unix.SOCK_DGRAM, 0, "EACCES = EACCES = EACCES = EACCES ="},
	{"pair datagram with flags", "socketpair", unix.AF_UNIX, unix.SOCK_DGRAM | flags, 0, "EACCES = EACCES = EACCES = EACCES ="},
	{"pair raw", "socketpair", unix.AF_UNIX, unix.SOCK_RAW, 0, "EACCES = EACCES = EACCES = EACCES ="},
	{"pair inet", "socketpair", unix.AF_INET, unix.SOCK_STREAM, 0, "EACCES EACCES EACCES EACCES EACCES EACCES = ="},
}

func init() {
	tasks["sockets"] = func([]string) results {
		r := make(results)
		for _, c := range socketCases {
			if c.call == "socket" {
				fd, errno := rawCall(c.call, c.domain, c.kind, c.protocol)
				r[c.name] = result(errno)
				if errno == 0 {
					unix.Close(int(fd))
				}
				continue
			}
			r[c.name] = result(makePair(c.domain, c.kind, c.protocol))
		}
		return r
	}
}

func makePair(domain, kind, protocol uintptr) error {
	fds, err := unix.Socketpair(int(domain), int(kind), int(protocol))
	if err != nil {
		return err
	}
	unix.Close(fds[0])
	unix.Close(fds[1])
	return nil
}

func TestSocketFamilies(t *testing.T) {
	for column, mode := range socketModes {
		t.Run(mode.name, func(t *testing.T) {
			control, confined := bothWays(t, mode.o, "sockets")
			proved := 0
			for _, c := range socketCases {
				want := strings.Fields(c.answers)[column]
				if want == "=" {
					want = control[c.name]
				} else if control[c.name] == "ok" {
					proved++
				}
				if confined[c.name] != want {
					t.Errorf("%s: %s, want %s (without a filter %s)", c.name, confined[c.name], want, control[c.name])
				}
			}
			t.Logf("%d of %d sockets can be made without the filter and not with it", proved, len(socketCases))
		})
	}
}

func init() {
	// The argument is a descriptor of a connected TCP socket, and a port to
	// connect it to instead.
	tasks["reuse a socket"] = func(args []string) results {
		fd, _ := strconv.Atoi(args[0])
		port, _ := strconv.Atoi(args[1])
		r := make(results)
		_, errno := rawCall("connect", uintptr(fd), cString(string(make([]byte, 16))), 16)
		r["disconnect"] = result(errno)
		loopback := [4]byte{127, 0, 0, 1}
		r["connect"] = result(unix.Connect(fd, &unix.SockaddrInet4{Port: port, Addr: loopback}))
		r["bind"] = result(unix.Bind(fd, &unix.SockaddrInet4{Addr: loopback}))
		r["listen"] = result(unix.Listen(fd, 1))
		_, err := unix.Write(fd, []byte("x"))
		r["write"] = result(err)
		return r
	}
}

// TestInheritedSocket: a TCP socket that the process was given cannot be turned
// to another address, nor into a server, when the network is off.
func TestInheritedSocket(t *testing.T) {
	requireSeccomp(t)
	for _, confined := range []bool{false, true} {
		given, other := listenTCP(t), listenTCP(t)
		file := dialFile(t, given)
		r := inChild(t, job{Task: "reuse a socket", Args: []string{"3", portOf(other)}, Control: !confined}, file)
		reached := pending(t, other)
		if !confined {
			if r["connect"] != "ok" || !reached {
				t.Skipf("without a filter it doesn't work either: %v", r)
			}
			continue
		}
		if reached {
			t.Error("the other server was reached")
		}
		for _, call := range []string{"disconnect", "connect", "bind", "listen"} {
			if r[call] != "EACCES" {
				t.Errorf("%s: %s, want EACCES", call, r[call])
			}
		}
		if r["write"] != "ok" {
			t.Errorf("the socket itself is of no use any more: %s", r["write"])
		}
	}
}
