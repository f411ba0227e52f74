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
	if report == nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return status.FromContextError(err).Err()
	}
	detail := &pb.ErrorDetail{Reason: string(core.ErrInternal), Detail: valid(err.Error()), KillReport: FromKillReport(report)}
	var e *core.Error
	if errors.As(err, &e) {
		detail.Reason, detail.Stage, detail.Backend = string(e.Reason), string(e.Stage), e.Backend
		detail.Detail, detail.Path, detail.Remedy = valid(e.Detail), []byte(e.Path), valid(e.Remedy)
		detail.Errno = int32(e.Errno)
		if e.Err != nil {
			detail.Cause = valid(e.Err.Error())
		}
	}
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

// FromStatus returns the typed error in err, and the kill report that came with
// it, if any. Errors of gRPC itself are returned unchanged.
func FromStatus(err error) (error, *core.KillReport) {
	s, ok := status.FromError(err)
	if !ok || err == nil {
		return err, nil
	}
	for _, any := range s.Details() {
		detail, ok := any.(*pb.ErrorDetail)
		if !ok {
			continue
		}
		e := &core.Error{
			Reason: core.Reason(detail.Reason), Stage: core.Stage(detail.Stage), Backend: detail.Backend,
			Detail: detail.Detail, Path: string(detail.Path), Errno: syscall.Errno(detail.Errno), Remedy: detail.Remedy,
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
		return e, report
	}
	return err, nil
}

// valid makes text fit for a protobuf string.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
