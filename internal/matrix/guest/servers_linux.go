package main

import (
	"io"
	"net"
	"path/filepath"
)

// servers are sockets of a process outside the session.
type servers struct {
	TCP, UDP         int    // ports of 127.0.0.1
	Stream, Datagram string // paths
	Abstract         string // a name, without the NUL before it

	open []io.Closer
}

// serve opens the servers and accepts whatever comes.
func serve(dir string) (*servers, error) {
	s := &servers{Stream: filepath.Join(dir, "stream"), Datagram: filepath.Join(dir, "datagram"), Abstract: "matrix-" + filepath.Base(dir)}
	for _, l := range []struct{ network, address string }{
		{"tcp", "127.0.0.1:0"}, {"unix", s.Stream}, {"unix", "@" + s.Abstract},
	} {
		listener, err := net.Listen(l.network, l.address)
		if err != nil {
			s.close()
			return nil, err
		}
		s.open = append(s.open, listener)
		if l.network == "tcp" {
			s.TCP = listener.Addr().(*net.TCPAddr).Port
		}
		go accept(listener)
	}
	for _, l := range []struct{ network, address string }{{"udp", "127.0.0.1:0"}, {"unixgram", s.Datagram}} {
		socket, err := net.ListenPacket(l.network, l.address)
		if err != nil {
			s.close()
			return nil, err
		}
		s.open = append(s.open, socket)
		if l.network == "udp" {
			s.UDP = socket.LocalAddr().(*net.UDPAddr).Port
		}
	}
	return s, nil
}

func accept(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		conn.Close()
	}
}

func (s *servers) close() {
	for _, socket := range s.open {
		socket.Close()
	}
}
