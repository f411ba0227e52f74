//go:build unix

package host

import (
	"errors"
	"os"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// A WindowSize is the size of a terminal in character cells.
type WindowSize struct{ Rows, Columns uint16 }

// StartTerminal starts the command in a new session on a new terminal of that
// size, and returns the other side of the terminal. Standard streams that are
// not set are the terminal. The caller closes the file, after Wait; reading from
// it ends with an error when the command has ended (EIO on Linux, which takes the
// terminal away from its descendants then). On Linux, closing the file ends a read
// that is under way, and hangs the terminal up.
func (c *Cmd) StartTerminal(size WindowSize) (*os.File, error) {
	if c.Process != nil {
		return nil, errors.New("host: the command was started already")
	}
	master, slave, err := pty.Open()
	if err != nil {
		return nil, err
	}
	defer slave.Close()
	if master, err = pollable(master); err != nil {
		return nil, err
	}
	if err := ResizeTerminal(master, size); err != nil {
		master.Close()
		return nil, err
	}
	c.terminal = slave
	if c.Stdin == nil {
		c.Stdin = slave
	}
	if c.Stdout == nil {
		c.Stdout = slave
	}
	if c.Stderr == nil {
		c.Stderr = slave
	}
	if err := c.Start(); err != nil {
		master.Close()
		return nil, err
	}
	return master, nil
}

// ResizeTerminal changes the size of a terminal that StartTerminal returned. The
// processes in its foreground get SIGWINCH.
func ResizeTerminal(terminal *os.File, size WindowSize) error {
	// Not by way of Fd, which would make reads from the file uninterruptible.
	conn, err := terminal.SyscallConn()
	if err != nil {
		return err
	}
	var failure error
	err = conn.Control(func(fd uintptr) {
		failure = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: size.Rows, Col: size.Columns})
	})
	return errors.Join(err, failure)
}
