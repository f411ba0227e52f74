package core_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"github.com/pinfold/pinfold/core"
)

func TestErrorText(t *testing.T) {
	for want, e := range map[string]*core.Error{
		`not found`: {Reason: core.ErrNotFound},
		`landlock: opening a path: "/x": permission denied (ask its owner)`: {
			Reason: core.ErrNotPermitted, Stage: core.StagePlan, Backend: "landlock", Detail: "opening a path",
			Path: "/x", Errno: syscall.EACCES, Remedy: "ask its owner"},
		// A path that the detail names already is not repeated.
		`opening "/x": permission denied`: {Reason: core.ErrNotPermitted, Detail: `opening "/x"`, Path: "/x", Errno: syscall.EACCES},
		// The cause says more than the errno.
		`d: open /x: permission denied`: {Reason: core.ErrInternal, Detail: "d", Errno: syscall.EACCES,
			Err: &fs.PathError{Op: "open", Path: "/x", Err: syscall.EACCES}},
		// Nothing in a path acts on a terminal or ends the line.
		`unsupported: "/\x1b[2J\n\xff\u202e"`: {Reason: core.ErrUnsupported, Path: "/\x1b[2J\n\xff\u202e"},
	} {
		if got := e.Error(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestErrorMatches(t *testing.T) {
	cause := errors.New("cause")
	e := &core.Error{Reason: core.ErrNotPermitted, Errno: syscall.EACCES, Err: cause}
	err := fmt.Errorf("wrapped: %w", e)
	for _, target := range []error{core.ErrNotPermitted, syscall.EACCES, fs.ErrPermission, os.ErrPermission, cause, e} {
		if !errors.Is(err, target) {
			t.Errorf("it is not %v", target)
		}
	}
	for _, target := range []error{core.ErrNotFound, fs.ErrNotExist, syscall.EPERM} {
		if errors.Is(err, target) {
			t.Errorf("it is %v", target)
		}
	}
	var reason core.Reason
	var errno syscall.Errno
	var typed *core.Error
	if !errors.As(err, &reason) || reason != core.ErrNotPermitted ||
		!errors.As(err, &errno) || errno != syscall.EACCES || !errors.As(err, &typed) || typed != e {
		t.Errorf("as reason %q, errno %v, error %v", reason, errno, typed)
	}
	if errors.Is(&core.Error{Reason: core.ErrInternal}, syscall.Errno(0)) {
		t.Error("no errno is taken for an errno")
	}
}

func TestReasonOf(t *testing.T) {
	for _, c := range []struct {
		err  error
		want core.Reason
	}{
		{nil, ""},
		{errors.New("x"), core.ErrInternal},
		{fmt.Errorf("x: %w", &core.Error{Reason: core.ErrClosed}), core.ErrClosed},
		{errors.Join(errors.New("x"), &core.Error{Reason: core.ErrSurvivors}), core.ErrSurvivors},
	} {
		if got := core.ReasonOf(c.err); got != c.want {
			t.Errorf("ReasonOf(%v) is %q, want %q", c.err, got, c.want)
		}
	}
	if core.Reason("x").Valid() || core.Reason("").Valid() || !core.ErrUnenforced.Valid() {
		t.Error("Valid is wrong")
	}
}
