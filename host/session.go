package host

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/pinfold/pinfold/core"
)

// A Session is one policy and the commands that run under it. Its methods may be
// called from several goroutines at once. Close it when done.
type Session struct {
	host   *Host
	id     core.SessionID
	policy core.Policy // settled

	opened *core.Opened
	plan   *core.Plan  // nil if nothing is confined
	birth  *core.Birth // of both; its files belong to opened and plan
	temp   string      // "" if there is none
	env    []string

	report Report // complete after Close

	verifying sync.Once
	verified  chan struct{} // closed when verifyErr is final
	verifyErr error

	mu       sync.Mutex
	commands []*Cmd
	running  sync.WaitGroup // births under way: Close waits for them
	closing  bool

	closeOnce sync.Once
	closeErr  error
}

// Open opens a session under a policy. It fails if a required part of the policy
// cannot be enforced on this machine, with an [UnenforcedError], unless the
// policy says best effort. After an error nothing is left of the session.
func (h *Host) Open(ctx context.Context, policy core.Policy) (*Session, error) {
	settled, err := Settle(policy)
	if err != nil {
		return nil, err
	}
	s := &Session{host: h, id: core.NewSessionID(), policy: settled, verified: make(chan struct{})}
	if err := h.add(s); err != nil {
		return nil, err
	}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.abandon())
	}
	h.sweepLater()
	return s, nil
}

func (s *Session) open(ctx context.Context) (err error) {
	started := time.Now()
	if s.policy.Filesystem.Confined {
		if s.temp, err = makeTemp(s.host.temp, s.host.owner, s.id); err != nil {
			return err
		}
		s.policy.Filesystem.Rules = append(s.policy.Filesystem.Rules,
			core.PathRule{Path: s.temp, Access: core.AllAccess, Origin: "session"})
	}
	early := s.planEarly(ctx)
	s.opened, err = s.host.Tracker().Open(ctx, &core.OpenRequest{
		Session: s.id, Owner: s.host.owner,
		Limits: core.LimitsPolicy{Processes: s.policy.Limits.Processes, Memory: s.policy.Limits.Memory},
	})
	if err != nil {
		early.discard()
		return err
	}
	plan := &core.Plan{}
	if s.policy.Confines() {
		if plan, err = s.makePlan(ctx, early); err != nil {
			return err
		}
		s.plan = plan
	}
	if s.birth, err = merge(&s.opened.Birth, &plan.Birth); err != nil {
		return err
	}
	var withheld []string
	s.env, withheld = environment(s.policy.Environment, hostEnvironment())
	if s.temp != "" {
		s.env = set(s.env, "TMPDIR="+s.temp)
	}
	s.report = Report{
		Session: s.id, Policy: s.policy.Name, Workspace: s.policy.Workspace, BestEffort: s.policy.BestEffort,
		Opened: started, Withheld: withheld,
		Enforcement: enforcement(&s.policy, s.opened, plan), Constraints: plan.Constraints,
	}
	return check(&s.policy, &s.report.Enforcement)
}

// ID returns the session's id.
func (s *Session) ID() core.SessionID { return s.id }

// Enforcement returns what is enforced, and what is not. The caller must not
// change it.
func (s *Session) Enforcement() *core.Enforcement { return &s.report.Enforcement }

// Listing returns the confiner's plan in the mechanism's own words, or "" if
// nothing is confined.
func (s *Session) Listing() string {
	if s.plan == nil {
		return ""
	}
	return s.plan.Listing
}

// Policy returns the policy as it was settled. The caller must not change it.
func (s *Session) Policy() *core.Policy { return &s.policy }

// Processes returns the live processes of the session.
func (s *Session) Processes(ctx context.Context) ([]core.Process, error) {
	return s.host.Tracker().List(ctx, s.opened.Handle)
}

// Kill kills every process of the session, which stays open for other commands.
func (s *Session) Kill(ctx context.Context) (*core.KillReport, error) {
	return s.host.Tracker().Kill(ctx, s.opened.Handle)
}

// Close kills every process of the session, removes what the session left on the
// machine, and returns the report. Commands that somebody waits for end as
// killed. Later calls return the same.
//
// If processes survive, the error is of reason ErrSurvivors and the report names
// them.
func (s *Session) Close(ctx context.Context) (*Report, error) {
	s.closeOnce.Do(func() {
		s.mu.Lock()
		s.closing = true
		s.mu.Unlock()
		s.running.Wait()
		left, err := s.host.Tracker().Close(ctx, s.opened.Handle)
		s.report.Left = left
		s.report.Closed = time.Now()
		s.closeErr = errors.Join(err, s.release())
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, c := range s.commands {
			s.report.Commands = append(s.report.Commands, c.outcome())
		}
	})
	report := s.report
	report.Commands = slices.Clone(report.Commands)
	return &report, s.closeErr
}

// abandon undoes an Open that failed.
func (s *Session) abandon() error {
	var err error
	if s.opened != nil {
		_, err = s.host.Tracker().Close(context.Background(), s.opened.Handle)
	}
	return errors.Join(err, s.release())
}

// release gives back what this process holds of the session.
func (s *Session) release() error {
	s.host.remove(s)
	s.plan.Close()
	if s.opened != nil {
		s.opened.Birth.Close()
	}
	if s.temp == "" {
		return nil
	}
	return removeTemp(s.temp)
}
