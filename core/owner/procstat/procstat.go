// Package procstat reads /proc/PID/stat of Linux (proc_pid_stat(5)).
//
// The second field is the process's own choice and may hold spaces,
// parentheses and newlines, so the line is parsed from its last closing
// parenthesis: no later field has one.
package procstat

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// A Stat is the part of /proc/PID/stat that Pinfold uses.
type Stat struct {
	PID     int
	Command string // the kernel's short name, at most 15 bytes for user processes
	State   byte   // R, S, D, T, t, Z, X, I ...
	Parent  int    // 0 when the parent is outside this PID namespace
	Threads int
	Start   uint64 // clock ticks since boot, as seen in this time namespace
}

// Gone reports whether the process has ended and merely waits for its parent
// to take note. A process whose first thread has ended while others go on shows
// the state of that thread, a zombie's, and is not gone.
func (s Stat) Gone() bool {
	return (s.State == 'Z' || s.State == 'X') && s.Threads <= 1
}

// Read reads the stat of a process. The error is the operating system's:
// fs.ErrNotExist or syscall.ESRCH for a process that does not exist, or is
// hidden by proc's hidepid option.
func Read(pid int) (Stat, error) {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Stat{}, err
	}
	return Parse(line)
}

// Numbers of the fields after the command, from the state on (field 3 of
// proc_pid_stat(5)).
const (
	fieldState   = 0
	fieldParent  = 4 - 3
	fieldThreads = 20 - 3
	fieldStart   = 22 - 3
)

// Parse parses one line of the form that the kernel prints.
func Parse(line []byte) (Stat, error) {
	open, end := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	if open < 1 || end < open {
		return Stat{}, fmt.Errorf("procstat: no command in %q", line)
	}
	fields := bytes.Fields(line[end+1:])
	if len(fields) <= fieldStart || len(fields[fieldState]) != 1 {
		return Stat{}, fmt.Errorf("procstat: %d fields after the command in %q", len(fields), line)
	}
	s := Stat{Command: string(line[open+1 : end]), State: fields[fieldState][0]}
	var err error
	if s.PID, err = strconv.Atoi(string(bytes.TrimSpace(line[:open]))); err != nil {
		return Stat{}, fmt.Errorf("procstat: pid: %w", err)
	}
	if s.Parent, err = strconv.Atoi(string(fields[fieldParent])); err != nil {
		return Stat{}, fmt.Errorf("procstat: parent: %w", err)
	}
	if s.Threads, err = strconv.Atoi(string(fields[fieldThreads])); err != nil {
		return Stat{}, fmt.Errorf("procstat: threads: %w", err)
	}
	if s.Start, err = strconv.ParseUint(string(fields[fieldStart]), 10, 64); err != nil {
		return Stat{}, fmt.Errorf("procstat: start time: %w", err)
	}
	return s, nil
}
