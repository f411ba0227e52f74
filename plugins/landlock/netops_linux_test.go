package landlock

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

func withSocket(family, kind, protocol int, use func(fd int) error) error {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return use(fd)
}

func loopback4(port string) unix.Sockaddr {
	return &unix.SockaddrInet4{Port: number(port), Addr: [4]byte{127, 0, 0, 1}}
}

func loopback6(port string) unix.Sockaddr {
	return &unix.SockaddrInet6{Port: number(port), Addr: [16]byte{15: 1}}
}

func onlyMake(family, kind, protocol int) func([]string) error {
	return func([]string) error { return withSocket(family, kind, protocol, func(int) error { return nil }) }
}

// unixAddress reads an abstract name from a leading @.
func unixAddress(name string) unix.Sockaddr { return &unix.SockaddrUnix{Name: name} }

func init() {
	for name, do := range map[string]func([]string) error{
		"tcp4": func(a []string) error {
			return withSocket(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error { return unix.Connect(fd, loopback4(a[0])) })
		},
		"tcp6": func(a []string) error {
			return withSocket(unix.AF_INET6, unix.SOCK_STREAM, 0, func(fd int) error { return unix.Connect(fd, loopback6(a[0])) })
		},
		"mptcp": func(a []string) error {
			return withSocket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP, func(fd int) error { return unix.Connect(fd, loopback4(a[0])) })
		},
		"fastopen": func(a []string) error {
			return withSocket(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error {
				return unix.Sendto(fd, []byte("x"), unix.MSG_FASTOPEN, loopback4(a[0]))
			})
		},
		"udp": func(a []string) error {
			return withSocket(unix.AF_INET, unix.SOCK_DGRAM, 0, func(fd int) error { return unix.Sendto(fd, []byte("x"), 0, loopback4(a[0])) })
		},
		"bind4": func(a []string) error {
			return withSocket(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error { return unix.Bind(fd, loopback4(a[0])) })
		},
		"serve4": func(a []string) error {
			return withSocket(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error {
				if err := unix.Bind(fd, loopback4(a[0])); err != nil {
					return err
				}
				return unix.Listen(fd, 1)
			})
		},
		"listen": func([]string) error { // without a bind: the kernel chooses a port
			return withSocket(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error { return unix.Listen(fd, 1) })
		},
		"raw":     onlyMake(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP),
		"ping":    onlyMake(unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP),
		"packet":  onlyMake(unix.AF_PACKET, unix.SOCK_RAW, 0),
		"netlink": onlyMake(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE),
		"unix": func(a []string) error {
			return withSocket(unix.AF_UNIX, unix.SOCK_STREAM, 0, func(fd int) error { return unix.Connect(fd, unixAddress(a[0])) })
		},
		"unixserve": func(a []string) error {
			return withSocket(unix.AF_UNIX, unix.SOCK_STREAM, 0, func(fd int) error {
				if err := unix.Bind(fd, unixAddress(a[0])); err != nil {
					return err
				}
				return unix.Listen(fd, 1)
			})
		},
		"socketpair": func([]string) error {
			fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fds[0])
			defer unix.Close(fds[1])
			return writeX(fds[0])
		},
		"pairsend": func(a []string) error { // an end of a datagram pair can send to any name
			fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fds[0])
			defer unix.Close(fds[1])
			return unix.Sendto(fds[0], []byte("x"), 0, unixAddress(a[0]))
		},
		"iouring": func([]string) error {
			var params [120]byte
			fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params[0])), 0)
			if errno != 0 {
				return errno
			}
			return unix.Close(int(fd))
		},
	} {
		operations[name] = do
	}
}
