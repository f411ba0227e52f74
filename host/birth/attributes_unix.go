//go:build unix && !(linux && (amd64 || arm64))

package birth

import (
	"slices"
	"syscall"
)

// processAttributes says to package syscall what a Command asks for.
func processAttributes(c *Command) (*syscall.SysProcAttr, error) {
	a := &syscall.SysProcAttr{Setsid: c.Setsid, Setpgid: c.Setpgid, Pgid: c.Pgid}
	if c.ControllingTerminal != nil {
		a.Setctty = true
		a.Ctty = slices.Index(c.Files, c.ControllingTerminal)
		if a.Ctty < 0 {
			return nil, refuse(syscall.ENOTSUP, "on this system the controlling terminal must be one of the command's files")
		}
	}
	if c.Foreground != nil {
		a.Foreground = true
		a.Ctty = int(c.Foreground.Fd())
	}
	return a, nil
}
