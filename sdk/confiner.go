package sdk

import (
	"context"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/core/backendpb"
	"github.com/pinfold/pinfold/core/wire"
)

// confinerServer answers the contract's Confiner service from a core.Confiner.
type confinerServer struct {
	backendpb.UnimplementedConfinerServer

	backend core.Confiner
	files   wire.FileSender
}

func (s *confinerServer) Describe(ctx context.Context, _ *backendpb.DescribeRequest) (*backendpb.DescribeResponse, error) {
	return describe(ctx, s.backend)
}

func (s *confinerServer) Probe(ctx context.Context, _ *backendpb.ProbeRequest) (*backendpb.ProbeResponse, error) {
	return probe(ctx, s.backend)
}

func (s *confinerServer) Plan(ctx context.Context, m *backendpb.PlanRequest) (*backendpb.PlanResponse, error) {
	if err := checkFeatures(ctx, s.backend, m.GetRequiredFeatures()); err != nil {
		return nil, err
	}
	request, err := wire.ToPlanRequest(m)
	if err != nil {
		return nil, wire.ToStatus(err, nil)
	}
	plan, err := s.backend.Plan(ctx, request)
	if err != nil {
		return nil, wire.ToStatus(err, nil)
	}
	// Once they are sent, the files live on in the socket and then in the host.
	defer plan.Close()
	response, err := wire.FromPlan(plan, s.files)
	return response, wire.ToStatus(err, nil)
}

func describe(ctx context.Context, b core.Backend) (*backendpb.DescribeResponse, error) {
	description, err := b.Describe(ctx)
	if err != nil {
		return nil, wire.ToStatus(err, nil)
	}
	return wire.FromDescription(description), nil
}

func probe(ctx context.Context, b core.Backend) (*backendpb.ProbeResponse, error) {
	capability, err := b.Probe(ctx)
	if err != nil {
		return nil, wire.ToStatus(err, nil)
	}
	return wire.FromCapability(capability), nil
}

func checkFeatures(ctx context.Context, b core.Backend, required []string) error {
	if len(required) == 0 {
		return nil
	}
	description, err := b.Describe(ctx)
	if err == nil {
		err = wire.CheckFeatures(required, description.Features)
	}
	return wire.ToStatus(err, nil)
}
