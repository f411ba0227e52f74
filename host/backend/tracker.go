package backend

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/core/backendpb"
	"github.com/pinfold/pinfold/core/wire"
)

// Tracker returns the backend as a tracker. If it is none, the methods fail with
// ErrUnsupported.
func (s *Supervisor) Tracker() core.Tracker { return tracker{s} }

type tracker struct{ *Supervisor }

var _ core.Tracker = tracker{}

func client(g *generation) backendpb.TrackerClient { return backendpb.NewTrackerClient(g.conn) }

func (t tracker) Describe(ctx context.Context) (d *core.Description, err error) {
	err = t.call(ctx, core.StageBackend, t.limits.describe, func(ctx context.Context, g *generation) error {
		d, err = describe(ctx, client(g).Describe)
		return err
	})
	return d, err
}

func (t tracker) Probe(ctx context.Context) (p *core.Capability, err error) {
	err = t.call(ctx, core.StageProbe, t.limits.probe, func(ctx context.Context, g *generation) error {
		p, err = probe(ctx, client(g).Probe)
		return err
	})
	return p, err
}

func (t tracker) Open(ctx context.Context, request *core.OpenRequest) (opened *core.Opened, err error) {
	m := wire.FromOpenRequest(request)
	err = t.call(ctx, core.StageOpen, t.limits.open, func(ctx context.Context, g *generation) error {
		response, err := unary(ctx, method(client(g).Open), m)
		if err == nil {
			opened, err = wire.ToOpened(ctx, response, g.line)
		}
		return err
	})
	return opened, err
}

func (t tracker) Verify(ctx context.Context, h core.Handle, pid int) error {
	m := &backendpb.VerifyRequest{Handle: wire.FromHandle(h), Pid: int32(pid)}
	return t.call(ctx, core.StageVerify, t.limits.verify, func(ctx context.Context, g *generation) error {
		_, err := unary(ctx, method(client(g).Verify), m)
		return err
	})
}

func (t tracker) List(ctx context.Context, h core.Handle) (list []core.Process, err error) {
	m := &backendpb.ListRequest{Handle: wire.FromHandle(h)}
	err = t.call(ctx, core.StageList, t.limits.list, func(ctx context.Context, g *generation) error {
		list = nil
		stream, err := client(g).List(ctx, m)
		return collect(stream, err, func(page *backendpb.ListResponse) error {
			processes, err := wire.ToProcesses(page.Processes)
			list = append(list, processes...)
			return err
		})
	})
	return list, err
}

func (t tracker) Kill(ctx context.Context, h core.Handle) (*core.KillReport, error) {
	return t.killing(ctx, core.StageKill, func(ctx context.Context, g *generation) (*backendpb.KillReport, error) {
		response, err := unary(ctx, method(client(g).Kill), &backendpb.KillRequest{Handle: wire.FromHandle(h)})
		return response.GetReport(), err
	})
}

func (t tracker) Close(ctx context.Context, h core.Handle) (*core.KillReport, error) {
	return t.killing(ctx, core.StageClose, func(ctx context.Context, g *generation) (*backendpb.KillReport, error) {
		response, err := unary(ctx, method(client(g).Close), &backendpb.CloseRequest{Handle: wire.FromHandle(h)})
		return response.GetReport(), err
	})
}

// killing makes a call whose failure may carry a report of what it did do.
func (t tracker) killing(ctx context.Context, stage core.Stage, f func(context.Context, *generation) (*backendpb.KillReport, error)) (report *core.KillReport, err error) {
	err = t.call(ctx, stage, t.limits.kill, func(ctx context.Context, g *generation) error {
		m, err := f(ctx, g)
		if err != nil {
			report, _ = wire.FromStatus(err)
			return err
		}
		report, err = wire.ToKillReport(m)
		return err
	})
	return report, err
}

func (t tracker) Sessions(ctx context.Context) (list []core.SessionStatus, err error) {
	err = t.call(ctx, core.StageList, t.limits.list, func(ctx context.Context, g *generation) error {
		list = nil
		stream, err := client(g).Sessions(ctx, &backendpb.SessionsRequest{})
		return collect(stream, err, func(page *backendpb.SessionsResponse) error {
			sessions, err := wire.ToSessionStatuses(page.Sessions)
			list = append(list, sessions...)
			return err
		})
	})
	return list, err
}

func (t tracker) Sweep(ctx context.Context) (report *core.SweepReport, err error) {
	err = t.call(ctx, core.StageSweep, t.limits.sweep, func(ctx context.Context, g *generation) error {
		response, err := unary(ctx, method(client(g).Sweep), &backendpb.SweepRequest{})
		if err == nil {
			report, err = wire.ToSweepReport(response)
		}
		return err
	})
	return report, err
}

// collect reads a stream to its end.
func collect[M any, Page interface {
	*M
	proto.Message
}](stream grpc.ServerStreamingClient[M], err error, add func(Page) error) error {
	for err == nil {
		var page *M
		if page, err = stream.Recv(); err == nil {
			err = wire.CheckUnderstood(Page(page))
		}
		if err == nil {
			err = add(page)
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
