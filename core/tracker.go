package core

import (
	"context"
	"fmt"
)

// A Tracker finds and kills every process of a session, whatever the processes
// did to hide: new sessions, double forks, ignored signals.
//
// Lifecycle of a session: Open, then any number of launches each checked with
// Verify, then Close. List and Kill may be called in between. After Close the
// session does not exist.
//
// State: the truth is in the kernel. Everything a tracker needs to act on a
// session is in its [Handle] and in kernel objects whose names carry the session
// and its owner, so any later process of the same tracker can take over. There is
// no file or memory to lose.
//
// Idempotence: every method may be repeated with the same arguments and does
// then what is still to do. Kill and Close of a session that no longer exists
// succeed: what was asked for holds.
//
// Concurrency: every method may be called from several goroutines at once, for
// one session as well as for many. Methods of two sessions never affect each
// other.
//
// Failure: an error leaves the session as it was or nearer to its end, never
// with more rights. Kill and Close return an error of reason [ErrSurvivors] with
// the report when processes outlived every attempt.
//
// A tracker never kills a process that it cannot prove to be a member, and never
// its host or itself.
type Tracker interface {
	Backend

	// Open creates a session and says how processes become its members. Opening
	// a session that is open returns the same handle again.
	//
	// The caller owns the Birth in the result and closes it. If Open fails,
	// nothing is left of the session.
	Open(ctx context.Context, req *OpenRequest) (*Opened, error)

	// Verify reports nil if the process is a member of the session, and an error
	// of reason [ErrNotMember] if it is not. The caller must be the parent of the
	// process and must not have reaped it, so that the pid means what it says.
	Verify(ctx context.Context, h Handle, pid int) error

	// List returns the live members, in no order. A session that does not exist
	// is an error of reason [ErrNotFound].
	List(ctx context.Context, h Handle) ([]Process, error)

	// Kill ends every member, and those they start meanwhile, with a signal that
	// cannot be caught. The session stays open. The time it takes is bounded by
	// ctx and by the tracker's own limit, whichever ends first.
	Kill(ctx context.Context, h Handle) (*KillReport, error)

	// Close kills what is left, as Kill does, and removes every trace of the
	// session. While members survive, the session stays open.
	Close(ctx context.Context, h Handle) (*KillReport, error)

	// Sessions lists the sessions of this user on this machine, of every owner,
	// from the kernel's names alone.
	Sessions(ctx context.Context) ([]SessionStatus, error)

	// Sweep closes the sessions whose owner is dead, but for those that were
	// opened to outlive it. It reports what it could not close; the error is for
	// not being able to look.
	Sweep(ctx context.Context) (*SweepReport, error)
}

// An OpenRequest asks for a session.
type OpenRequest struct {
	Session SessionID
	// Owner is the host's own process.
	Owner Owner
	// Limits bound the session as a whole: Processes and Memory. The other
	// limits are the confiner's.
	Limits LimitsPolicy
	// Detached sessions go on when their owner dies: neither the tracker nor a
	// sweep ends them.
	Detached bool
	// MoveOwner permits the tracker to move the owner's process, once, into
	// another cgroup of the same user, if no session can be made otherwise. The
	// process then belongs to another unit of the service manager than before;
	// that is not undone when the session is closed.
	MoveOwner bool
}

// Opened is an open session.
type Opened struct {
	Handle Handle
	// Birth makes a process a member.
	Birth Birth
	// Contributions are to be carried by the confiner's plan.
	Contributions []Contribution
	// Constraints have to hold for the session to be inescapable.
	Constraints []Constraint
	// Enforcement has the finding for [Cleanup], given that the constraints
	// hold, and for [Limits] if the request has any.
	Enforcement Enforcement
}

// Outcome says how sure it is that no process of a session is alive.
type Outcome int

// The outcomes, from best to worst. The zero value is invalid.
const (
	// ProvedEmpty: the kernel says that there is none.
	ProvedEmpty Outcome = iota + 1
	// ObservedEmpty: several looks in a row found none.
	ObservedEmpty
	// GaveUp: the time was up and there were survivors.
	GaveUp
)

var outcomeNames = [...]string{ProvedEmpty: "proved empty", ObservedEmpty: "observed empty", GaveUp: "gave up"}

// Valid reports whether o is an outcome of contract version 1.
func (o Outcome) Valid() bool { return o >= ProvedEmpty && o <= GaveUp }

func (o Outcome) String() string {
	if !o.Valid() {
		return fmt.Sprintf("Outcome(%d)", int(o))
	}
	return outcomeNames[o]
}

// MarshalText implements [encoding.TextMarshaler]; an invalid outcome is an error.
func (o Outcome) MarshalText() ([]byte, error) {
	if !o.Valid() {
		return nil, fmt.Errorf("core: invalid kill outcome %d", int(o))
	}
	return []byte(outcomeNames[o]), nil
}

// A KillReport says what was killed and how sure it is that nothing is left.
type KillReport struct {
	Outcome Outcome `json:"outcome"`
	// Killed is the number of processes that were seen alive and are gone.
	Killed int `json:"killed"`
	// Processes are those that were seen first, at most [KillReportProcesses].
	Processes []Process `json:"processes,omitempty"`
	// Survivors are those that were alive when the time was up.
	Survivors []Process `json:"survivors,omitempty"`
}

// KillReportProcesses is how many processes a KillReport names at most.
const KillReportProcesses = 32

// SessionStatus is one session as the kernel's names tell of it.
type SessionStatus struct {
	Handle Handle `json:"handle"`
	Owner  Owner  `json:"owner"`
	// OwnerAlive reports whether the very process that opened it still lives.
	OwnerAlive bool `json:"owner_alive"`
	Detached   bool `json:"detached"`
	// Processes is the number of live members.
	Processes int `json:"processes"`
}

// A SweepReport says what a sweep removed.
type SweepReport struct {
	// Closed are the sessions that were removed, as they were found.
	Closed []SessionStatus `json:"closed"`
	// Killed is the number of processes that were killed in them.
	Killed int `json:"killed"`
	// Failed are the sessions of dead owners that could not be removed.
	Failed []SweepFailure `json:"failed,omitempty"`
}

// A SweepFailure is a session that a sweep could not close, and why.
type SweepFailure struct {
	Session SessionStatus `json:"session"`
	Problem string        `json:"problem"`
}
