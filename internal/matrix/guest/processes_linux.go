package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// manager asks the service manager of the user, or of the system for root, for a process, which would be outside the session.
func manager(t *targets) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	args := []string{"--quiet", "--wait", "--collect", "touch", filepath.Join(t.Outside, "escaped")}
	if os.Getuid() != 0 {
		args = append([]string{"--user"}, args...)
	}
	cmd := exec.CommandContext(ctx, "systemd-run", args...)
	// A variable that is not passed is no wall.
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR=/run/user/"+strconv.Itoa(os.Getuid()))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

func environ(t *targets) error {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", t.Process))
	if err == nil && len(text) == 0 {
		return errNotThere
	}
	return err
}

// ptrace attaches without stopping the process. The kernel detaches when the thread that attached ends.
func ptrace(t *targets) error {
	const seize = 0x4206 // PTRACE_SEIZE, linux/ptrace.h
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked, so that the thread ends with the goroutine
		_, _, errno := syscall.RawSyscall6(syscall.SYS_PTRACE, seize, uintptr(t.Process), 0, 0, 0, 0)
		if errno != 0 {
			result <- os.NewSyscallError("ptrace", errno)
			return
		}
		result <- nil
	}()
	return <-result
}

// namespace runs a program in a user and mount namespace of its own, in which it mounts something.
func namespace(*targets) error {
	cmd := exec.Command("mount", "-t", "tmpfs", "none", "/mnt")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// daemon starts a process that ends and leaves another, each in a session (setsid) of its own, and waits until it lives.
func daemon(t *targets) error {
	out, in, err := os.Pipe()
	if err != nil {
		return err
	}
	defer out.Close()
	err = detached("fork", t.Token, in).Run()
	in.Close()
	if err != nil {
		return err
	}
	_, err = bufio.NewReader(out).ReadString('\n')
	if errors.Is(err, io.EOF) {
		return errors.New("the daemon ended before it was ready")
	}
	return err
}

// fork is the daemon's first half.
func fork(token string) error { return detached("linger", token, os.NewFile(3, "ready")).Start() }

func detached(role, token string, ready *os.File) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", role, token)
	cmd.ExtraFiles = []*os.File{ready}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// leaveCgroup is the last attempt: if it succeeds this process is outside the session.
func leaveCgroup(t *targets) error {
	if t.Cgroup == "" {
		return errors.New("there is no other cgroup v2 to go to")
	}
	return os.WriteFile(filepath.Join(t.Cgroup, "cgroup.procs"), []byte("0"), 0)
}
