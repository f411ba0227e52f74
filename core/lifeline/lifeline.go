// Package lifeline is the socket pair that a host gives each backend it starts.
// It does two things that gRPC cannot: its end of file tells each side, without
// delay and without a race, that the other is dead; and it carries open files
// from the backend to the host (SCM_RIGHTS, unix(7)).
//
// A file is sent as one message of eight bytes, its id in little-endian order,
// with the descriptor attached.
package lifeline

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// EnvKey is the environment variable in which a host tells the backend which
// descriptor is its end.
const EnvKey = "PINFOLD_LIFELINE"

const idSize = 8

// maxUntaken is how many files may have arrived without being asked for, as
// happens when a call is given up. A peer that sends more within untakenTime,
// which is longer than any call takes, is broken; older ones are closed.
const maxUntaken = 1024

const untakenTime = 2 * time.Minute

// ErrClosed is the error of every operation after the other side is gone.
var ErrClosed = errors.New("lifeline: the other side is gone")

// A Conn is one end of a lifeline. Its methods may be called from several
// goroutines at once. Close it when done; that is what tells the other side.
type Conn struct {
	socket *net.UnixConn
	done   chan struct{}

	sending sync.Mutex
	lastID  uint64

	mu      sync.Mutex
	arrived map[uint64]arrival
	changed chan struct{} // closed and replaced whenever arrived changes
	err     error         // why reading ended; set before done is closed
}

// arrival is a file that nobody has taken yet.
type arrival struct {
	file *os.File
	at   time.Time
}

// New returns a Conn over the socket and takes it over.
func New(socket *os.File) (*Conn, error) {
	c, err := net.FileConn(socket)
	if err != nil {
		return nil, fmt.Errorf("lifeline: %w", err)
	}
	socket.Close()
	unixConn, ok := c.(*net.UnixConn)
	if !ok {
		c.Close()
		return nil, fmt.Errorf("lifeline: the descriptor is a %s socket, not a unix socket", c.LocalAddr().Network())
	}
	conn := &Conn{
		socket:  unixConn,
		done:    make(chan struct{}),
		arrived: map[uint64]arrival{},
		changed: make(chan struct{}),
	}
	go conn.receive()
	return conn, nil
}

// Done is closed when the other side has closed its end or died.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Send sends f and returns the id under which the other side takes it. The
// caller keeps f.
func (c *Conn) Send(f *os.File) (uint64, error) {
	if f == nil {
		return 0, errors.New("lifeline: no file to send")
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, fmt.Errorf("lifeline: %w", err)
	}
	c.sending.Lock()
	defer c.sending.Unlock()
	c.lastID++
	message := binary.LittleEndian.AppendUint64(nil, c.lastID)
	var sendErr error
	if err := raw.Control(func(fd uintptr) {
		_, _, sendErr = c.socket.WriteMsgUnix(message, rights(int(fd)), nil)
	}); err != nil {
		return 0, fmt.Errorf("lifeline: %w", err)
	}
	if sendErr != nil {
		return 0, fmt.Errorf("lifeline: sending a file: %w", sendErr)
	}
	return c.lastID, nil
}

// Take returns the file that arrived, or is about to arrive, under id. The
// caller owns it. What the other side sent before its end can still be taken
// after it, until Close. A second Take of one id waits in vain until ctx ends.
func (c *Conn) Take(ctx context.Context, id uint64) (*os.File, error) {
	for ended := false; ; {
		c.mu.Lock()
		f, changed := c.arrived[id].file, c.changed
		delete(c.arrived, id)
		c.mu.Unlock()
		if f != nil {
			return f, nil
		}
		if ended {
			return nil, c.err
		}
		select {
		case <-changed:
		case <-c.done:
			ended = true // one more look: the file may have come just before
		case <-ctx.Done():
			return nil, fmt.Errorf("lifeline: waiting for file %d: %w", id, ctx.Err())
		}
	}
}

// Close closes this end and every file that was not taken.
func (c *Conn) Close() error {
	err := c.socket.Close()
	<-c.done
	c.drop()
	return err
}

func (c *Conn) receive() {
	err := c.receiveAll()
	if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) {
		err = ErrClosed
	}
	c.socket.Close()
	if err != ErrClosed {
		c.drop() // whoever breaks the protocol is not believed any more
	}
	c.err = err
	close(c.done)
}

// drop closes the files that were not taken.
func (c *Conn) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range c.arrived {
		a.file.Close()
	}
	clear(c.arrived)
}

func (c *Conn) receiveAll() error {
	message := make([]byte, idSize)
	control := make([]byte, controlSize)
	for {
		n, oobn, _, _, err := c.socket.ReadMsgUnix(message, control)
		if err != nil {
			return err
		}
		files, err := received(control[:oobn])
		if err == nil && n == 0 && len(files) == 0 {
			return io.EOF
		}
		if err == nil && (n != idSize || len(files) != 1) {
			err = fmt.Errorf("lifeline: a message of %d bytes with %d files", n, len(files))
		}
		if err == nil {
			err = c.keep(binary.LittleEndian.Uint64(message), files[0], time.Now())
		}
		if err != nil {
			for _, f := range files {
				f.Close()
			}
			return err
		}
	}
}

func (c *Conn) keep(id uint64, f *os.File, now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if id == 0 {
		return errors.New("lifeline: a file without an id")
	}
	for id, a := range c.arrived {
		if now.Sub(a.at) >= untakenTime {
			a.file.Close()
			delete(c.arrived, id)
		}
	}
	if c.arrived[id].file != nil {
		return fmt.Errorf("lifeline: file %d arrived twice", id)
	}
	if len(c.arrived) >= maxUntaken {
		return fmt.Errorf("lifeline: %d files arrived that nobody asked for", maxUntaken)
	}
	c.arrived[id] = arrival{f, now}
	close(c.changed)
	c.changed = make(chan struct{})
	return nil
}
