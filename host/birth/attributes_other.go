//go:build !unix

package birth

import "syscall"

// processAttributes refuses what this system does not know.
func processAttributes(c *Command) (*syscall.SysProcAttr, error) {
	if c.Setsid || c.ControllingTerminal != nil || c.Setpgid || c.Foreground != nil {
		return nil, refuse(syscall.ENOTSUP, "this system has no sessions, process groups and controlling terminals")
	}
	return nil, nil
}
