package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

// targetsFile is where the rogue command finds its targets: in the workspace, for that is what it may read.
const targetsFile = "targets.json"

// secretVariable is set for pinfold, and passed by nobody.
const secretVariable = "ROGUE_SECRET"

// targets are what the rogue command aims at.
type targets struct {
	Outside string // a directory next to the workspace
	Secret  string // a file in it
	// The device and inode of Secret, by which an inherited descriptor is told.
	Device, Inode uint64
	Servers       servers
	Process       int    // a process outside
	Cgroup        string // a cgroup that the user may make and, perhaps, join; "" if there is none
	Token         string // what marks the daemon in its command line
}

// place is the workspace of one run, and what is around it.
type place struct {
	workspace string
	targets   targets
}

func newPlace(dir string, servers *servers) (*place, error) {
	p := &place{workspace: filepath.Join(dir, "workspace")}
	p.targets = targets{
		Outside: filepath.Join(dir, "outside"), Secret: filepath.Join(dir, "outside", "secret"),
		Servers: *servers, Process: os.Getpid(), Token: "token-" + strconv.Itoa(os.Getpid()) + "-" + filepath.Base(dir),
	}
	for _, dir := range []string{p.workspace, p.targets.Outside} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"secret", "append", "truncate", "remove", "chmod"} {
		if err := os.WriteFile(filepath.Join(p.targets.Outside, name), []byte("hunter2\n"), 0o644); err != nil {
			return nil, err
		}
	}
	if err := copyProgram("/bin/true", filepath.Join(p.targets.Outside, "program")); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if err := copyProgram(self, filepath.Join(p.workspace, "rogue")); err != nil {
		return nil, err
	}
	var stat syscall.Stat_t
	if err := syscall.Stat(p.targets.Secret, &stat); err != nil {
		return nil, err
	}
	p.targets.Device, p.targets.Inode = stat.Dev, stat.Ino
	p.targets.Cgroup = makeCgroup()
	return p, nil
}

func (p *place) close() {
	if p.targets.Cgroup != "" {
		os.Remove(p.targets.Cgroup)
	}
}

func copyProgram(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// makeCgroup makes a cgroup v2 that is no session of pinfold, as high as this user may: at the root, in an ancestor of the own
// cgroup, or below the user's service manager, where pinfold may have itself moved to.
func makeCgroup() string {
	for _, mount := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		if _, err := os.Stat(filepath.Join(mount, "cgroup.controllers")); err != nil {
			continue // no cgroup v2
		}
		dir := mount
		dirs := []string{dir}
		for element := range strings.SplitSeq(ownCgroup(), "/") {
			dir = filepath.Join(dir, element)
			dirs = append(dirs, dir)
		}
		dirs = append(dirs, fmt.Sprintf("%s/user.slice/user-%[2]d.slice/user@%[2]d.service", mount, os.Getuid()))
		for _, dir := range dirs {
			if made := filepath.Join(dir, "matrix-outside"); os.Mkdir(made, 0o755) == nil {
				return made
			}
		}
	}
	return ""
}

// ownCgroup is the path of the own cgroup v2 below its mount.
func ownCgroup() string {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if path, ok := strings.CutPrefix(line, "0::/"); ok {
			return strings.TrimSpace(path)
		}
	}
	return ""
}

// killDaemons kills the daemons of the run and notes in outcomes, unless nil, whether the attempt to leave one succeeded.
func (p *place) killDaemons(outcomes map[string]string) error {
	found, err := p.daemons()
	if err != nil {
		return err
	}
	for _, pid := range found {
		if err := killAndWait(pid); err != nil {
			return err
		}
	}
	if outcomes != nil && outcomes["daemon"] == "" && len(found) == 0 {
		outcomes["daemon"] = "it was started, and killed at the end of the session"
	}
	return nil
}

// killAndWait returns when a process, which need be no child, is dead.
func killAndWait(pid int) error {
	const pidfdOpen = 434 // SYS_PIDFD_OPEN, the same on every architecture
	fd, _, errno := syscall.Syscall(pidfdOpen, uintptr(pid), 0, 0)
	if errno == syscall.ESRCH {
		return nil
	}
	if errno != 0 {
		return os.NewSyscallError("pidfd_open", errno)
	}
	defer syscall.Close(int(fd))
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
		return err
	}
	// struct pollfd of poll(2); a pidfd can be read from when the process has ended.
	poll := struct {
		fd              int32
		events, revents int16
	}{fd: int32(fd), events: 1} // POLLIN
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&poll)), 1, 0, 0, 0, 0)
		if errno == 0 {
			return nil
		}
		if errno != syscall.EINTR {
			return os.NewSyscallError("ppoll", errno)
		}
	}
}

// daemons finds live processes by the token in their command line; a zombie has none.
func (p *place) daemons() ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var found []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && bytes.Contains(line, []byte(p.targets.Token+"\x00")) {
			found = append(found, pid)
		}
	}
	return found, nil
}
