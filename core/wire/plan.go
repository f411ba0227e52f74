package wire

import (
	"context"
	"crypto/sha256"

	"github.com/pinfold/pinfold/core"
	pb "github.com/pinfold/pinfold/core/backendpb"
)

// FromPlanRequest returns the message for r, with the features it depends on.
func FromPlanRequest(r *core.PlanRequest) *pb.PlanRequest {
	return &pb.PlanRequest{
		RequiredFeatures: PolicyFeatures(&r.Policy),
		Session:          r.Session.String(),
		Policy:           FromPolicy(&r.Policy),
		Contributions:    all(r.Contributions, fromContribution),
		Constraints:      all(r.Constraints, fromConstraint),
	}
}

// ToPlanRequest returns the request in m. The required features are for the
// caller to check.
func ToPlanRequest(m *pb.PlanRequest) (*core.PlanRequest, error) {
	r := &core.PlanRequest{}
	var err error
	if r.Session, err = core.ParseSessionID(m.GetSession()); err != nil {
		return nil, malformed("%v", err)
	}
	if r.Policy, err = ToPolicy(m.GetPolicy()); err != nil {
		return nil, err
	}
	if r.Contributions, err = each(m.Contributions, toContribution); err != nil {
		return nil, err
	}
	r.Constraints, err = each(m.Constraints, toConstraint)
	return r, err
}

// FromPlan returns the message for p, its files sent through files.
func FromPlan(p *core.Plan, files FileSender) (*pb.PlanResponse, error) {
	birth, err := FromBirth(&p.Birth, files)
	if err != nil {
		return nil, err
	}
	return &pb.PlanResponse{
		Birth: birth,
		Wrappers: all(p.Wrappers, func(w core.Wrapper) *pb.Wrapper {
			return &pb.Wrapper{Path: []byte(w.Path), Args: all(w.Args, fromText)}
		}),
		Echoes:      all(p.Echoes, func(d core.Digest) []byte { return d[:] }),
		Enforcement: fromEnforcement(p.Enforcement),
		Constraints: all(p.Constraints, fromConstraintFinding),
		Listing:     valid(p.Listing),
	}, nil
}

// ToPlan returns the plan in m, its files taken from files. After an error no
// file is held.
func ToPlan(ctx context.Context, m *pb.PlanResponse, files FileTaker) (*core.Plan, error) {
	birth, err := ToBirth(ctx, m.GetBirth(), files)
	if err != nil {
		return nil, err
	}
	p := &core.Plan{Birth: birth, Listing: m.GetListing()}
	if err := fillPlan(p, m); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func fillPlan(p *core.Plan, m *pb.PlanResponse) (err error) {
	p.Wrappers, err = each(m.GetWrappers(), func(w *pb.Wrapper) (core.Wrapper, error) {
		path, err := toPath(w.GetPath())
		if err != nil {
			return core.Wrapper{}, err
		}
		args, err := each(w.Args, toText)
		return core.Wrapper{Path: path, Args: args}, err
	})
	if err != nil {
		return err
	}
	p.Echoes, err = each(m.GetEchoes(), func(echo []byte) (core.Digest, error) {
		if len(echo) != sha256.Size {
			return core.Digest{}, malformed("an echo is %d bytes long", len(echo))
		}
		return core.Digest(echo), nil
	})
	if err != nil {
		return err
	}
	if p.Enforcement, err = toEnforcement(m.GetEnforcement()); err != nil {
		return err
	}
	p.Constraints, err = each(m.GetConstraints(), toConstraintFinding)
	return err
}
