package seccomp

import (
	"maps"

	"golang.org/x/sys/unix"
)

func init() {
	maps.Copy(headerNumbers, map[string]int{
		"ioperm": unix.SYS_IOPERM,
		"iopl":   unix.SYS_IOPL,
		"open":   unix.SYS_OPEN,
	})
}
