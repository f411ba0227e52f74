package wire

import (
	"context"
	"errors"
	"strings"
	"syscall"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pinfold/pinfold/core"
	pb "github.com/pinfold/pinfold/core/backendpb"
)

// statusCodes are what a reader without the error detail sees of a reason.
var statusCodes = map[core.Reason]codes.Code{
	core.ErrInvalidPolicy:  codes.InvalidArgument,
	core.ErrInvalidRequest: codes.InvalidArgument,
	core.ErrUnsupported:    codes.FailedPrecondition,
	core.ErrUnknownFeature: codes.FailedPrecondition,
	core.ErrNotPermitted:   codes.PermissionDenied,
	core.ErrNotFound:       codes.NotFound,
	core.ErrNotMember:      codes.FailedPrecondition,
	core.ErrSurvivors:      codes.Aborted,
}

// ToStatus returns err as a gRPC status that [FromStatus] turns back. The report
// of a Kill or Close that failed travels with it; it may be nil.
func ToStatus(err error, report *core.KillReport) error {
	if err == nil {
		return nil
	}
	var e *core.Error
	typed := errors.As(err, &e)
	if !typed && report == nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return status.FromContextError(err).Err()
	}
	detail := &pb.ErrorDetail{Reason: string(core.ErrInternal), Detail: valid(err.Error())}
	if typed {
		detail = fromError(e)
	}
	detail.KillReport = FromKillReport(report)
	code, known := statusCodes[core.Reason(detail.Reason)]
	if !known {
		code = codes.Internal
	}
	s, detailErr := status.New(code, valid(err.Error())).WithDetails(detail)
	if detailErr != nil {
		return status.Error(codes.Internal, valid(err.Error()))
	}
	return s.Err()
}

func fromError(e *core.Error) *pb.ErrorDetail {
	detail := &pb.ErrorDetail{
		Reason: valid(string(e.Reason)), Stage: valid(string(e.Stage)), Backend: valid(e.Backend),
		Detail: valid(e.Detail), Path: []byte(e.Path), Remedy: valid(e.Remedy), Errno: int32(e.Errno),
	}
	if e.Err != nil {
		detail.Cause = valid(e.Err.Error())
		// Only the text of the cause crosses; its errno is worth keeping.
		var errno syscall.Errno
		if e.Errno == 0 && errors.As(e.Err, &errno) {
			detail.Errno = int32(errno)
		}
	}
	return detail
}

// FromStatus returns the kill report that came with err, if any, and the typed
// error in err. Errors of gRPC itself are returned unchanged.
func FromStatus(err error) (*core.KillReport, error) {
	s, ok := status.FromError(err)
	if !ok || err == nil {
		return nil, err
	}
	for _, any := range s.Details() {
		detail, ok := any.(*pb.ErrorDetail)
		if !ok {
			continue
		}
		e := &core.Error{
			Reason: core.Reason(detail.Reason), Stage: core.Stage(detail.Stage), Backend: detail.Backend,
			Detail: detail.Detail, Path: string(detail.Path), Errno: syscall.Errno(max(detail.Errno, 0)), Remedy: detail.Remedy,
		}
		// The kernel's answer is worded by Errno already.
		if detail.Cause != "" && (e.Errno == 0 || detail.Cause != e.Errno.Error()) {
			e.Err = errors.New(detail.Cause)
		}
		if !e.Reason.Valid() {
			e.Reason = core.ErrInternal
		}
		var report *core.KillReport
		if detail.KillReport != nil {
			report, _ = ToKillReport(detail.KillReport)
		}
		return report, e
	}
	return nil, err
}

// valid makes text fit for a protobuf string.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
