package host

import (
	"context"
	"slices"

	"github.com/pinfold/pinfold/core"
)

// An earlyPlan is a plan asked for while the tracker still opens the session, on
// the guess that the tracker will need of the confiner what it needed the last
// time. It is used only if the guess was right.
type earlyPlan struct {
	request *core.PlanRequest
	cancel  context.CancelFunc
	done    chan struct{} // closed when what follows is set
	plan    *core.Plan
	err     error
}

// planEarly asks for the plan ahead of time, if there is a guess, and otherwise
// at least starts the confiner. It returns nil if there is no early plan.
func (s *Session) planEarly(ctx context.Context) *earlyPlan {
	if !confines(&s.policy) {
		return nil
	}
	guess, known := s.host.lastConstraints()
	if !known {
		// A failure to start shows again in Plan, with its reason.
		s.host.work.Go(func() { s.host.confinerProcess.Start() })
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	e := &earlyPlan{request: s.planRequest(guess, nil), cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(e.done)
		e.plan, e.err = s.host.confiner.Plan(ctx, e.request)
	}()
	return e
}

// discard gives up an early plan, which may be nil.
func (e *earlyPlan) discard() {
	if e != nil {
		e.cancel()
		<-e.done
		e.plan.Close()
	}
}

// makePlan returns the plan for what the tracker asked in opened, and refuses
// one that is incomplete.
func (s *Session) makePlan(ctx context.Context, early *earlyPlan) (*core.Plan, error) {
	request := s.planRequest(s.opened.Constraints, s.opened.Contributions)
	var plan *core.Plan
	var err error
	if early != nil && len(request.Contributions) == 0 && slices.Equal(early.request.Constraints, request.Constraints) {
		<-early.done
		early.cancel()
		plan, err = early.plan, early.err
	} else {
		early.discard()
		plan, err = s.host.confiner.Plan(ctx, request)
	}
	if err != nil {
		return nil, err
	}
	if err = complete(request, plan); err == nil {
		err = s.host.allowWrappers(plan.Wrappers)
	}
	if err != nil {
		plan.Close()
		return nil, err
	}
	s.host.rememberConstraints(s.opened)
	return plan, nil
}

func (s *Session) planRequest(constraints []core.Constraint, contributions []core.Contribution) *core.PlanRequest {
	return &core.PlanRequest{
		Session: s.id, Policy: s.policy, Constraints: constraints, Contributions: contributions,
	}
}

// lastConstraints returns what the tracker needed of the confiner the last time,
// if that can be a guess at the next: a tracker that contributes something of
// each session's own cannot be guessed.
func (h *Host) lastConstraints() ([]core.Constraint, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.guess, h.guessed
}

func (h *Host) rememberConstraints(o *core.Opened) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.guess, h.guessed = o.Constraints, len(o.Contributions) == 0
}
