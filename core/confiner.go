package core

import "context"

// A Confiner turns a policy into the attributes that confine a process. It
// computes; the host launches. It never starts the command, and it may be gone
// by the time the command runs: everything that confines is in the kernel.
//
// Lifecycle: a host calls Describe once, Probe for people, and Plan for every
// session or policy. A Plan is used for any number of launches.
//
// Concurrency: every method may be called from several goroutines at once.
//
// Failure: a confiner that cannot do part of what a policy asks does not fail.
// It says so in the plan's Enforcement, and the host decides. It fails only when
// it cannot tell (the kernel refused a call that it needs), when the policy is
// malformed ([ErrInvalidPolicy]), or when it does not know something in the request
// ([ErrUnknownFeature]).
type Confiner interface {
	Backend

	// Plan computes how to launch commands under req.Policy.
	//
	// It is deterministic: the same request on the same machine, with the same
	// files at the paths of the policy, gives the same plan but for the identity
	// of the open files in it. It changes nothing on the machine, so it is
	// repeated freely: a host retries once on a fresh process when the confiner
	// dies in mid-call.
	//
	// The caller owns the plan and closes it.
	//
	// Cancelling ctx ends the call early with ctx's error; nothing has to be
	// undone.
	Plan(ctx context.Context, req *PlanRequest) (*Plan, error)
}

// A PlanRequest asks for a plan.
type PlanRequest struct {
	// Session is the session the plan is for. It names things (a denial's tag);
	// it never changes what is enforced.
	Session SessionID
	// Policy is settled: every path in it is absolute and clean.
	Policy Policy
	// Contributions are a tracker's, to be carried in the plan, every one.
	Contributions []Contribution
	// Constraints are a tracker's, each to be answered in the plan.
	Constraints []Constraint
}

// A Plan is how a confiner confines.
type Plan struct {
	// Birth is the confiner's part of the kernel attributes.
	Birth Birth
	// Wrappers come in front of the command, the first outermost.
	Wrappers []Wrapper
	// Echoes has the digest of every contribution that the plan carries. A host
	// refuses a plan that lacks one.
	Echoes []Digest
	// Enforcement has a finding for every dimension that the policy asks of a
	// confiner, and for every rule.
	Enforcement Enforcement
	// Constraints answers every constraint of the request, in its order.
	Constraints []ConstraintFinding
	// Listing is the plan in the mechanism's own words: rule sets, filters,
	// profiles. It is for people, and the same for the same request.
	Listing string
}

// Close releases the files that the plan holds. Processes launched under it
// stay confined. It may be called on a nil Plan and more than once.
func (p *Plan) Close() error {
	if p == nil {
		return nil
	}
	return p.Birth.Close()
}
