package wire

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"syscall"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pinfold/pinfold/core"
	pb "github.com/pinfold/pinfold/core/backendpb"
)

// sent is an error as it comes out of a connection.
func sent(t *testing.T, err error) error {
	t.Helper()
	s, ok := status.FromError(err)
	if !ok {
		t.Fatalf("%v is no gRPC error", err)
	}
	return status.ErrorProto(through(t, s.Proto()))
}

func TestErrorsCross(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want core.Error
		text string
		is   []error
		isnt []error
	}{
		"whole": {
			err: &core.Error{Reason: core.ErrNotPermitted, Stage: core.StagePlan, Backend: "landlock", Detail: "opening a path",
				Path: "/\xff", Errno: syscall.EACCES, Remedy: "ask"},
			want: core.Error{Reason: core.ErrNotPermitted, Stage: core.StagePlan, Backend: "landlock", Detail: "opening a path",
				Path: "/\xff", Errno: syscall.EACCES, Remedy: "ask"},
			text: `landlock: opening a path: "/\xff": permission denied (ask)`,
			is:   []error{core.ErrNotPermitted, syscall.EACCES, fs.ErrPermission},
			isnt: []error{fs.ErrNotExist, core.ErrInternal},
		},
		"wrapped, with a cause": {
			err:  fmt.Errorf("outside: %w", &core.Error{Reason: core.ErrNotFound, Detail: "no session", Err: errors.New("c\xffause")}),
			want: core.Error{Reason: core.ErrNotFound, Detail: "no session", Err: errors.New("c\uFFFDause")},
			text: "no session: c\uFFFDause",
			is:   []error{core.ErrNotFound},
		},
		"the errno of the cause": {
			err: &core.Error{Reason: core.ErrInternal, Detail: "looking",
				Err: &os.PathError{Op: "open", Path: "/x", Err: syscall.ENOENT}},
			want: core.Error{Reason: core.ErrInternal, Detail: "looking", Errno: syscall.ENOENT,
				Err: errors.New("open /x: no such file or directory")},
			text: "looking: open /x: no such file or directory",
			is:   []error{fs.ErrNotExist},
		},
		"the errno is the cause": {
			err:  &core.Error{Reason: core.ErrInternal, Detail: "d", Errno: syscall.EPERM, Err: syscall.EPERM},
			want: core.Error{Reason: core.ErrInternal, Detail: "d", Errno: syscall.EPERM},
			text: "d: operation not permitted",
			is:   []error{fs.ErrPermission},
		},
		"untyped": {
			err:  errors.New("a surprise"),
			want: core.Error{Reason: core.ErrInternal, Detail: "a surprise"},
			text: "a surprise",
			is:   []error{core.ErrInternal},
		},
		"a reason of later": {
			err:  &core.Error{Reason: "from_the_future", Detail: "d"},
			want: core.Error{Reason: core.ErrInternal, Detail: "d"},
			text: "d",
			is:   []error{core.ErrInternal},
		},
		"typed over the end of a context": {
			err:  &core.Error{Reason: core.ErrSurvivors, Detail: "d", Err: context.DeadlineExceeded},
			want: core.Error{Reason: core.ErrSurvivors, Detail: "d", Err: errors.New("context deadline exceeded")},
			text: "d: context deadline exceeded",
			is:   []error{core.ErrSurvivors},
		},
	} {
		t.Run(name, func(t *testing.T) {
			report, err := FromStatus(sent(t, ToStatus(c.err, nil)))
			var got *core.Error
			if !errors.As(err, &got) {
				t.Fatalf("%v is not typed", err)
			}
			if !reflect.DeepEqual(*got, c.want) || report != nil {
				t.Errorf("got %#v and report %v, want %#v", *got, report, c.want)
			}
			if err.Error() != c.text {
				t.Errorf("got %q, want %q", err, c.text)
			}
			for _, target := range c.is {
				if !errors.Is(err, target) {
					t.Errorf("it is not %v", target)
				}
			}
			for _, target := range c.isnt {
				if errors.Is(err, target) {
					t.Errorf("it is %v", target)
				}
			}
		})
	}
}

func TestReportsCrossWithErrors(t *testing.T) {
	want := &core.KillReport{Outcome: core.GaveUp, Killed: 3, Survivors: []core.Process{{PID: 5, Parent: 1, Command: "x"}}}
	for _, cause := range []error{
		&core.Error{Reason: core.ErrSurvivors, Detail: "d"}, errors.New("untyped"), context.DeadlineExceeded,
	} {
		report, err := FromStatus(sent(t, ToStatus(cause, want)))
		if !reflect.DeepEqual(report, want) || core.ReasonOf(err) == "" {
			t.Errorf("%v: %+v, %v", cause, report, err)
		}
	}
}

func TestErrorsOfTheConnectionStay(t *testing.T) {
	for cause, code := range map[error]codes.Code{
		context.Canceled: codes.Canceled, context.DeadlineExceeded: codes.DeadlineExceeded,
		fmt.Errorf("waiting: %w", context.Canceled): codes.Canceled,
	} {
		err := sent(t, ToStatus(cause, nil))
		report, back := FromStatus(err)
		if status.Code(back) != code || back != err || report != nil {
			t.Errorf("%v became %v", cause, back)
		}
	}
	if report, err := FromStatus(nil); report != nil || err != nil || ToStatus(nil, nil) != nil {
		t.Error("no error became one")
	}
	plain := errors.New("plain")
	if _, err := FromStatus(plain); err != plain {
		t.Errorf("got %v", err)
	}
}

// What a broken or hostile backend can put into an error does no harm.
func TestBrokenErrorDetails(t *testing.T) {
	s, err := status.New(codes.Internal, "m").WithDetails(&pb.ErrorDetail{
		Reason: "internal", Errno: -1, KillReport: &pb.KillReport{Outcome: 99}})
	if err != nil {
		t.Fatal(err)
	}
	report, err := FromStatus(sent(t, s.Err()))
	var e *core.Error
	if !errors.As(err, &e) || e.Errno != 0 || report != nil {
		t.Errorf("%#v, %v", e, report)
	}
}
