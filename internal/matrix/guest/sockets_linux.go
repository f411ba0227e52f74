package main

import (
	"os"
	"syscall"
)

const (
	protocolMPTCP = 262        // IPPROTO_MPTCP, linux/in.h
	sendFastOpen  = 0x20000000 // MSG_FASTOPEN, linux/socket.h
)

func localhost(port int) *syscall.SockaddrInet4 {
	return &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}
}

// withSocket calls use with a socket, by bare system calls: the net package would choose the protocol by itself.
func withSocket(family, kind, protocol int, use func(fd int) error) error {
	fd, err := syscall.Socket(family, kind|syscall.SOCK_CLOEXEC, protocol)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer syscall.Close(fd)
	return use(fd)
}

func tcp(t *targets) error {
	return withSocket(syscall.AF_INET, syscall.SOCK_STREAM, 0, func(fd int) error {
		return os.NewSyscallError("connect", syscall.Connect(fd, localhost(t.Servers.TCP)))
	})
}

func mptcp(t *targets) error {
	return withSocket(syscall.AF_INET, syscall.SOCK_STREAM, protocolMPTCP, func(fd int) error {
		return os.NewSyscallError("connect", syscall.Connect(fd, localhost(t.Servers.TCP)))
	})
}

func fastOpen(t *targets) error {
	return withSocket(syscall.AF_INET, syscall.SOCK_STREAM, 0, func(fd int) error {
		return os.NewSyscallError("sendto", syscall.Sendto(fd, []byte("x"), sendFastOpen, localhost(t.Servers.TCP)))
	})
}

func udp(t *targets) error {
	return withSocket(syscall.AF_INET, syscall.SOCK_DGRAM, 0, func(fd int) error {
		return os.NewSyscallError("sendto", syscall.Sendto(fd, []byte("x"), 0, localhost(t.Servers.UDP)))
	})
}

func listen(*targets) error {
	return withSocket(syscall.AF_INET, syscall.SOCK_STREAM, 0, func(fd int) error {
		if err := syscall.Bind(fd, localhost(0)); err != nil {
			return os.NewSyscallError("bind", err)
		}
		return os.NewSyscallError("listen", syscall.Listen(fd, 1))
	})
}

// reach connects to a unix socket, or sends to one of datagrams. A name that starts with @ is abstract.
func reach(kind int, name string) error {
	return withSocket(syscall.AF_UNIX, kind, 0, func(fd int) error {
		address := &syscall.SockaddrUnix{Name: name}
		if kind == syscall.SOCK_DGRAM {
			return os.NewSyscallError("sendto", syscall.Sendto(fd, []byte("x"), 0, address))
		}
		return os.NewSyscallError("connect", syscall.Connect(fd, address))
	})
}
