//go:build unix

package backend

import "syscall"

// ownSession keeps terminal signals away from a backend.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
