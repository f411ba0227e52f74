package main

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

// terminal is a pseudo-terminal; its slave becomes the standard input and controlling terminal of a run.
type terminal struct{ master, slave *os.File }

func newTerminal() (*terminal, error) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	var number, unlock uint32
	err = ioctl(master.Fd(), syscall.TIOCSPTLCK, unsafe.Pointer(&unlock))
	if err == nil {
		err = ioctl(master.Fd(), syscall.TIOCGPTN, unsafe.Pointer(&number))
	}
	if err == nil {
		var slave *os.File
		if slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0); err == nil {
			return &terminal{master, slave}, nil
		}
	}
	master.Close()
	return nil, err
}

func (t *terminal) close() {
	t.master.Close()
	t.slave.Close()
}

func typeIntoTerminal(*targets) error {
	key := byte('x')
	return ioctl(0, syscall.TIOCSTI, unsafe.Pointer(&key))
}

func ioctl(fd uintptr, request uintptr, argument unsafe.Pointer) error {
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(argument)); errno != 0 {
		return os.NewSyscallError("ioctl", errno)
	}
	return nil
}
