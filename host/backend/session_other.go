//go:build !unix

package backend

import "syscall"

func ownSession() *syscall.SysProcAttr { return nil }
