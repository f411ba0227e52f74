package sdk

import (
	"context"

	"google.golang.org/grpc"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/core/backendpb"
	"github.com/pinfold/pinfold/core/wire"
)

// trackerServer answers the contract's Tracker service from a core.Tracker.
type trackerServer struct {
	backendpb.UnimplementedTrackerServer

	backend core.Tracker
	files   wire.FileSender
}

func (s *trackerServer) Describe(ctx context.Context, _ *backendpb.DescribeRequest) (*backendpb.DescribeResponse, error) {
	return describe(ctx, s.backend)
}

func (s *trackerServer) Probe(ctx context.Context, _ *backendpb.ProbeRequest) (*backendpb.ProbeResponse, error) {
	return probe(ctx, s.backend)
}

func (s *trackerServer) Open(ctx context.Context, m *backendpb.OpenRequest) (*backendpb.OpenResponse, error) {
	if err := checkFeatures(ctx, s.backend, m.GetRequiredFeatures()); err != nil {
		return nil, err
	}
	request, err := wire.ToOpenRequest(m)
	if err != nil {
		return nil, wire.ToStatus(err, nil)
	}
	opened, err := s.backend.Open(ctx, request)
	if err != nil {
		return nil, wire.ToStatus(err, nil)
	}
	defer opened.Birth.Close()
	response, err := wire.FromOpened(opened, s.files)
	return response, wire.ToStatus(err, nil)
}

func (s *trackerServer) Verify(ctx context.Context, m *backendpb.VerifyRequest) (*backendpb.VerifyResponse, error) {
	handle, err := wire.ToHandle(m.GetHandle())
	if err == nil {
		err = s.backend.Verify(ctx, handle, int(m.GetPid()))
	}
	if err != nil {
		return nil, wire.ToStatus(err, nil)
	}
	return &backendpb.VerifyResponse{}, nil
}

func (s *trackerServer) List(m *backendpb.ListRequest, stream grpc.ServerStreamingServer[backendpb.ListResponse]) error {
	if err := understood(m); err != nil {
		return err
	}
	handle, err := wire.ToHandle(m.GetHandle())
	if err != nil {
		return wire.ToStatus(err, nil)
	}
	processes, err := s.backend.List(stream.Context(), handle)
	if err != nil {
		return wire.ToStatus(err, nil)
	}
	return pages(processes, func(page []core.Process) error {
		return stream.Send(&backendpb.ListResponse{Processes: wire.FromProcesses(page)})
	})
}

func (s *trackerServer) Kill(ctx context.Context, m *backendpb.KillRequest) (*backendpb.KillResponse, error) {
	handle, err := wire.ToHandle(m.GetHandle())
	if err != nil {
		return nil, wire.ToStatus(err, nil)
	}
	report, err := s.backend.Kill(ctx, handle)
	if err != nil {
		return nil, wire.ToStatus(err, report)
	}
	return &backendpb.KillResponse{Report: wire.FromKillReport(report)}, nil
}

func (s *trackerServer) Close(ctx context.Context, m *backendpb.CloseRequest) (*backendpb.CloseResponse, error) {
	handle, err := wire.ToHandle(m.GetHandle())
	if err != nil {
		return nil, wire.ToStatus(err, nil)
	}
	report, err := s.backend.Close(ctx, handle)
	if err != nil {
		return nil, wire.ToStatus(err, report)
	}
	return &backendpb.CloseResponse{Report: wire.FromKillReport(report)}, nil
}

func (s *trackerServer) Sessions(m *backendpb.SessionsRequest, stream grpc.ServerStreamingServer[backendpb.SessionsResponse]) error {
	if err := understood(m); err != nil {
		return err
	}
	sessions, err := s.backend.Sessions(stream.Context())
	if err != nil {
		return wire.ToStatus(err, nil)
	}
	return pages(sessions, func(page []core.SessionStatus) error {
		return stream.Send(&backendpb.SessionsResponse{Sessions: wire.FromSessionStatuses(page)})
	})
}

func (s *trackerServer) Sweep(ctx context.Context, _ *backendpb.SweepRequest) (*backendpb.SweepResponse, error) {
	report, err := s.backend.Sweep(ctx)
	if err != nil {
		return nil, wire.ToStatus(err, nil)
	}
	return wire.FromSweepReport(report), nil
}

// pages sends a list in pieces that fit into messages.
func pages[T any](list []T, send func([]T) error) error {
	for len(list) > 0 {
		n := min(len(list), wire.PageSize)
		if err := send(list[:n]); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}
