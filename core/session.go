package core

import (
	"fmt"
	"time"

	"github.com/google/uuid"
)

// A SessionID identifies a session on every machine and for all time. Names of
// kernel objects carry it.
type SessionID uuid.UUID

// NewSessionID returns a fresh id: a version 7 UUID, which is random but for the
// time of its making.
func NewSessionID() SessionID { return SessionID(uuid.Must(uuid.NewV7())) }

// Created returns when the id was made, to the millisecond, or the zero time for
// an id that does not tell.
func (id SessionID) Created() time.Time {
	if uuid.UUID(id).Version() != 7 {
		return time.Time{}
	}
	ms := uint64(id[0])<<40 | uint64(id[1])<<32 | uint64(id[2])<<24 | uint64(id[3])<<16 | uint64(id[4])<<8 | uint64(id[5])
	return time.UnixMilli(int64(ms))
}

// ParseSessionID parses the canonical form that [SessionID.String] prints.
func ParseSessionID(s string) (SessionID, error) {
	id, err := uuid.Parse(s)
	if err != nil || id.String() != s {
		return SessionID{}, fmt.Errorf("%s is not a session id: it has to look like %s", quote(s), uuid.Nil)
	}
	return SessionID(id), nil
}

func (id SessionID) String() string { return uuid.UUID(id).String() }

// MarshalText implements [encoding.TextMarshaler] with the canonical form.
func (id SessionID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (id *SessionID) UnmarshalText(text []byte) error {
	parsed, err := ParseSessionID(string(text))
	if err == nil {
		*id = parsed
	}
	return err
}

// An Owner is the process that a session belongs to, described so that no later
// process can be mistaken for it: pids are reused, the pair of pid and start
// time is not, within one boot.
type Owner struct {
	PID int `json:"pid"`
	// Start is the kernel's start time of the process in the kernel's own
	// units: clock ticks since boot on Linux (field 22 of proc_pid_stat(5)),
	// microseconds since the epoch on macOS (p_starttime).
	Start uint64 `json:"start"`
	// Boot identifies the boot in which PID and Start have meaning
	// (/proc/sys/kernel/random/boot_id on Linux, kern.bootsessionuuid on macOS).
	Boot string `json:"boot"`
}

// A Handle refers to an open session. The tracker that made it, or any later
// process of the same tracker, finds the session from it alone; to everybody
// else it is opaque.
type Handle struct {
	Session SessionID `json:"session"`
	// Tracker is the name of the backend that made the handle.
	Tracker string `json:"tracker"`
	// State is the version of Data's format. A tracker refuses a version it
	// does not know.
	State uint32 `json:"state"`
	// Data is the tracker's own.
	Data []byte `json:"data"`
}

// A Process is one live member of a session.
type Process struct {
	PID int `json:"pid"`
	// Parent is the parent's pid, 0 when it is outside what the host can see.
	Parent int `json:"parent"`
	// Command is the kernel's short name of the process, not a command line: it
	// is chosen by the process and proves nothing.
	Command string `json:"command"`
}
