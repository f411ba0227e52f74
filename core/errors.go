package core

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
)

// A Reason is the class of an [Error], the part that programs branch on. It is
// an error itself, so that errors.Is(err, core.ErrUnsupported) works on both sides
// of the plugin boundary.
type Reason string

// The reasons of contract version 1.
const (
	// ErrInvalidPolicy: the policy contradicts itself or is malformed.
	ErrInvalidPolicy Reason = "invalid_policy"
	// ErrInvalidRequest: a call was malformed; a defect of the caller.
	ErrInvalidRequest Reason = "invalid_request"
	// ErrUnsupported: this machine or this backend cannot do what was asked.
	ErrUnsupported Reason = "unsupported"
	// ErrUnknownFeature: a request depends on a feature the backend does not know,
	// or carries a field or value it cannot read.
	ErrUnknownFeature Reason = "unknown_feature"
	// ErrNotPermitted: the system refused.
	ErrNotPermitted Reason = "not_permitted"
	// ErrNotFound: no such session, process, path or backend.
	ErrNotFound Reason = "not_found"
	// ErrNotMember: a process is not in the session it should be in.
	ErrNotMember Reason = "not_member"
	// ErrUnenforced: strict mode, and a required dimension or a rule is not enforced.
	ErrUnenforced Reason = "unenforced"
	// ErrSurvivors: processes were still alive when the time to kill them was up.
	ErrSurvivors Reason = "survivors"
	// ErrUnavailable: a backend is gone, hangs or does not start.
	ErrUnavailable Reason = "unavailable"
	// ErrLaunchFailed: the command did not start.
	ErrLaunchFailed Reason = "launch_failed"
	// ErrClosed: the session or the host was closed.
	ErrClosed Reason = "closed"
	// ErrInternal: a defect of Pinfold or of a backend.
	ErrInternal Reason = "internal"
)

var reasons = []Reason{
	ErrInvalidPolicy, ErrInvalidRequest, ErrUnsupported, ErrUnknownFeature, ErrNotPermitted, ErrNotFound,
	ErrNotMember, ErrUnenforced, ErrSurvivors, ErrUnavailable, ErrLaunchFailed, ErrClosed, ErrInternal,
}

// Valid reports whether r is a reason of contract version 1.
func (r Reason) Valid() bool { return slices.Contains(reasons, r) }

func (r Reason) Error() string { return strings.ReplaceAll(string(r), "_", " ") }

// A Stage says at what point of a session's life an [Error] arose.
type Stage string

// The stages. StageBirth errors name the step in Detail.
const (
	StagePolicy  Stage = "policy"
	StageBackend Stage = "backend"
	StageProbe   Stage = "probe"
	StageOpen    Stage = "open"
	StagePlan    Stage = "plan"
	StageCheck   Stage = "check"
	StageBirth   Stage = "birth"
	StageExec    Stage = "exec"
	StageVerify  Stage = "verify"
	StageList    Stage = "list"
	StageKill    Stage = "kill"
	StageClose   Stage = "close"
	StageSweep   Stage = "sweep"
)

// An Error says what was asked, what was refused and what a person can do. It
// crosses the plugin boundary whole but for Err, of which the text crosses.
//
// errors.Is matches an Error with its Reason and with its Errno (and so with
// fs.ErrPermission, fs.ErrNotExist and the like).
type Error struct {
	Reason Reason
	Stage  Stage
	// Backend is the name of the backend that the error comes from, if any.
	Backend string
	// Detail says what was asked and what was refused, as a phrase without a
	// final period.
	Detail string
	// Path is the path that the error is about, if there is one.
	Path string
	// Errno is the kernel's answer, 0 if there is none.
	Errno syscall.Errno
	// Remedy says what the person can do, as a phrase; empty if nothing.
	Remedy string
	// Err is the cause within this process, if there is one.
	Err error
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.Backend != "" {
		fmt.Fprintf(&b, "%s: ", e.Backend)
	}
	switch {
	case e.Detail != "":
		b.WriteString(e.Detail)
	default:
		b.WriteString(e.Reason.Error())
	}
	if e.Path != "" && !strings.Contains(e.Detail, quote(e.Path)) {
		fmt.Fprintf(&b, ": %s", quote(e.Path))
	}
	switch {
	case e.Err != nil:
		fmt.Fprintf(&b, ": %v", e.Err)
	case e.Errno != 0:
		fmt.Fprintf(&b, ": %v", e.Errno)
	}
	if e.Remedy != "" {
		fmt.Fprintf(&b, " (%s)", e.Remedy)
	}
	return b.String()
}

// Unwrap returns the reason, the errno and the cause.
func (e *Error) Unwrap() []error {
	chain := []error{e.Reason}
	if e.Errno != 0 {
		chain = append(chain, e.Errno)
	}
	if e.Err != nil {
		chain = append(chain, e.Err)
	}
	return chain
}

// ReasonOf returns the reason of the first [Error] in err's tree, ErrInternal for
// any other error and "" for nil.
func ReasonOf(err error) Reason {
	var e *Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return e.Reason
	}
	return ErrInternal
}
