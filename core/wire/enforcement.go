package wire

import (
	"strconv"

	"github.com/pinfold/pinfold/core"
	pb "github.com/pinfold/pinfold/core/backendpb"
)

func quoted(s string) string { return strconv.QuoteToASCII(s) }

func fromFinding(f core.Finding) *pb.Finding {
	return &pb.Finding{
		Dimension: valid(string(f.Dimension)), Rule: valid(f.Rule), Level: pb.Level(f.Level), Mechanism: valid(f.Mechanism),
		Gap: valid(f.Gap), Observed: valid(f.Observed), Required: valid(f.Required), Remedy: valid(f.Remedy),
	}
}

func toFinding(m *pb.Finding) (core.Finding, error) {
	dimension, err := toDimension(m.GetDimension())
	if err != nil {
		return core.Finding{}, err
	}
	level := core.Level(m.Level)
	if !level.Valid() {
		return core.Finding{}, unknownValue("enforcement level", int32(m.Level))
	}
	if level != core.Enforced && m.Gap == "" {
		return core.Finding{}, malformed("a finding of %s is %s without saying what the gap is", dimension, level)
	}
	return core.Finding{
		Dimension: dimension, Rule: m.Rule, Level: level, Mechanism: m.Mechanism,
		Gap: m.Gap, Observed: m.Observed, Required: m.Required, Remedy: m.Remedy,
	}, nil
}

func fromEnforcement(e core.Enforcement) *pb.Enforcement {
	return &pb.Enforcement{Dimensions: all(e.Dimensions, fromFinding), Rules: all(e.Rules, fromFinding)}
}

func toEnforcement(m *pb.Enforcement) (core.Enforcement, error) {
	if m == nil {
		return core.Enforcement{}, malformed("a response lacks its enforcement")
	}
	var e core.Enforcement
	var err error
	if e.Dimensions, err = each(m.Dimensions, toFinding); err != nil {
		return e, err
	}
	seen := map[core.Dimension]bool{}
	for _, f := range e.Dimensions {
		if seen[f.Dimension] {
			return e, malformed("an enforcement has two findings for %s", f.Dimension)
		}
		seen[f.Dimension] = true
	}
	e.Rules, err = each(m.Rules, toFinding)
	return e, err
}

// FromDescription returns the message for d.
func FromDescription(d *core.Description) *pb.DescribeResponse {
	return &pb.DescribeResponse{Description: &pb.Description{
		Name: valid(d.Name), Version: valid(d.Version), Platform: valid(d.Platform), Features: all(d.Features, valid),
	}}
}

// ToDescription returns the description in m.
func ToDescription(m *pb.DescribeResponse) (*core.Description, error) {
	d := m.GetDescription()
	if d.GetName() == "" || d.GetVersion() == "" || d.GetPlatform() == "" {
		return nil, malformed("a description lacks its name, version or platform")
	}
	return &core.Description{Name: d.Name, Version: d.Version, Platform: d.Platform, Features: d.Features}, nil
}

// FromCapability returns the message for c.
func FromCapability(c *core.Capability) *pb.ProbeResponse {
	return &pb.ProbeResponse{
		Findings: all(c.Findings, fromFinding),
		Facts:    all(c.Facts, func(f core.Fact) *pb.Fact { return &pb.Fact{Name: valid(f.Name), Value: valid(f.Value)} }),
	}
}

// ToCapability returns the capability in m.
func ToCapability(m *pb.ProbeResponse) (*core.Capability, error) {
	findings, err := each(m.GetFindings(), toFinding)
	if err != nil {
		return nil, err
	}
	return &core.Capability{
		Findings: findings,
		Facts: all(m.GetFacts(), func(f *pb.Fact) core.Fact {
			return core.Fact{Name: f.GetName(), Value: f.GetValue()}
		}),
	}, nil
}

func fromContribution(c core.Contribution) *pb.Contribution {
	return &pb.Contribution{Dialect: valid(c.Dialect), Data: c.Data}
}

func toContribution(m *pb.Contribution) (core.Contribution, error) {
	if m.GetDialect() == "" {
		return core.Contribution{}, malformed("a contribution lacks its dialect")
	}
	return core.Contribution{Dialect: m.Dialect, Data: m.Data}, nil
}

func fromConstraint(c core.Constraint) *pb.Constraint {
	return &pb.Constraint{Kind: pb.ConstraintKind(c.Kind), Path: []byte(c.Path), Why: valid(c.Why)}
}

func toConstraint(m *pb.Constraint) (core.Constraint, error) {
	kind := core.ConstraintKind(m.GetKind())
	if kind < core.NoWriteBelow || kind > core.NoConnect {
		return core.Constraint{}, unknownValue("kind of constraint", int32(kind))
	}
	path, err := toPath(m.Path)
	return core.Constraint{Kind: kind, Path: path, Why: m.Why}, err
}

func fromConstraintFinding(f core.ConstraintFinding) *pb.ConstraintFinding {
	return &pb.ConstraintFinding{
		Constraint: fromConstraint(f.Constraint), Honoured: f.Honoured, Gap: valid(f.Gap), Remedy: valid(f.Remedy),
	}
}

func toConstraintFinding(m *pb.ConstraintFinding) (core.ConstraintFinding, error) {
	constraint, err := toConstraint(m.GetConstraint())
	if err != nil {
		return core.ConstraintFinding{}, err
	}
	if !m.Honoured && m.Gap == "" {
		return core.ConstraintFinding{}, malformed("a constraint on %s is not honoured without saying why", quoted(constraint.Path))
	}
	return core.ConstraintFinding{Constraint: constraint, Honoured: m.Honoured, Gap: m.Gap, Remedy: m.Remedy}, nil
}
