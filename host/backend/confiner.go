package backend

import (
	"context"

	"google.golang.org/grpc"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/core/backendpb"
	"github.com/pinfold/pinfold/core/wire"
)

// Confiner returns the backend as a confiner. If it is none, the methods fail
// with ErrUnsupported.
func (s *Supervisor) Confiner() core.Confiner { return confiner{s} }

type confiner struct{ *Supervisor }

var _ core.Confiner = confiner{}

func (c confiner) Describe(ctx context.Context) (d *core.Description, err error) {
	err = c.call(ctx, core.StageBackend, c.limits.describe, func(ctx context.Context, g *generation) error {
		d, err = describe(ctx, backendpb.NewConfinerClient(g.conn).Describe)
		return err
	})
	return d, err
}

func (c confiner) Probe(ctx context.Context) (p *core.Capability, err error) {
	err = c.call(ctx, core.StageProbe, c.limits.probe, func(ctx context.Context, g *generation) error {
		p, err = probe(ctx, backendpb.NewConfinerClient(g.conn).Probe)
		return err
	})
	return p, err
}

func (c confiner) Plan(ctx context.Context, request *core.PlanRequest) (plan *core.Plan, err error) {
	m := wire.FromPlanRequest(request)
	err = c.call(ctx, core.StagePlan, c.limits.plan, func(ctx context.Context, g *generation) error {
		response, err := unary(ctx, method(backendpb.NewConfinerClient(g.conn).Plan), m)
		if err == nil {
			plan, err = wire.ToPlan(ctx, response, g.line)
		}
		return err
	})
	return plan, err
}

// method binds a generated client method that takes call options.
func method[Request, Response any](f func(context.Context, Request, ...grpc.CallOption) (Response, error)) func(context.Context, Request) (Response, error) {
	return func(ctx context.Context, request Request) (Response, error) { return f(ctx, request) }
}

func describe(ctx context.Context, f func(context.Context, *backendpb.DescribeRequest, ...grpc.CallOption) (*backendpb.DescribeResponse, error)) (*core.Description, error) {
	response, err := unary(ctx, method(f), &backendpb.DescribeRequest{})
	if err != nil {
		return nil, err
	}
	return wire.ToDescription(response)
}

func probe(ctx context.Context, f func(context.Context, *backendpb.ProbeRequest, ...grpc.CallOption) (*backendpb.ProbeResponse, error)) (*core.Capability, error) {
	response, err := unary(ctx, method(f), &backendpb.ProbeRequest{})
	if err != nil {
		return nil, err
	}
	return wire.ToCapability(response)
}
