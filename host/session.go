package host

import (
	"context"
	"errors"
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
	env    []string    // never changed, since every command's begins with it

	report Report // what Open knows; see summary

	mu       sync.Mutex
	commands []*life
	proof    *proof        // of the first command's membership, nil before it
	births   int           // how many are under way
	closing  bool          // no more births
	quiet    chan struct{} // closed when closing and births is 0

	ending  sync.Mutex // one Close at a time
	ended   bool       // the tracker has closed the session
	removed bool       // so is the temporary directory
	left    *core.KillReport
	closed  time.Time
}

// Open opens a session under a policy. It fails if a required part of the policy
// cannot be enforced on this machine, with an [UnenforcedError], unless the
// policy says best effort. After an error nothing is left of the session, or the
// error says what.
func (h *Host) Open(ctx context.Context, policy core.Policy) (*Session, error) {
	settled, err := Settle(policy)
	if err != nil {
		return nil, err
	}
	ctx, done, err := h.beginOpening(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	s := &Session{host: h, id: core.NewSessionID(), policy: settled, quiet: make(chan struct{})}
	if err = s.open(ctx); err == nil {
		err = h.add(s)
	}
	if err != nil {
		undone := s.abandon(err)
		if h.life.Err() != nil {
			err = errHostClosed()
		}
		return nil, errors.Join(err, undone)
	}
	h.sweepLater()
	return s, nil
}

// beginOpening returns a context that ends with the host too.
func (h *Host) beginOpening(ctx context.Context) (context.Context, func(), error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, nil, errHostClosed()
	}
	h.opening++
	h.work.Add(1)
	h.startGuard()
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(h.life, cancel)
	return ctx, func() {
		stop()
		cancel()
		h.mu.Lock()
		h.opening--
		h.mu.Unlock()
		h.work.Done()
	}, nil
}

func (h *Host) add(s *Session) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return errHostClosed()
	}
	h.sessions[s.id] = s
	return nil
}

func (h *Host) remove(s *Session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.sessions, s.id)
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
	s.opened, err = s.openTracked(ctx)
	if err != nil {
		early.discard()
		return err
	}
	plan := &core.Plan{}
	if confines(&s.policy) {
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
	e := enforcement(&s.policy, s.opened, plan)
	s.report = Report{
		Session: s.id, Policy: s.policy.Name, Workspace: s.policy.Workspace, BestEffort: s.policy.BestEffort,
		Opened: started, Withheld: withheld, Required: s.policy.Require,
		Enforcement: e, Unenforced: unenforced(&s.policy, &e), Constraints: answers(plan.Constraints),
	}
	return check(&s.policy, &e)
}

func (s *Session) openRequest() *core.OpenRequest {
	return &core.OpenRequest{
		Session: s.id, Owner: s.host.owner,
		Limits: core.LimitsPolicy{Processes: s.policy.Limits.Processes, Memory: s.policy.Limits.Memory},
	}
}

// confines reports whether a policy asks anything of a confiner, limits of each
// process among it.
func confines(p *core.Policy) bool { return p.Confines() || limitsEach(p.Limits) }

// ID returns the session's id.
func (s *Session) ID() core.SessionID { return s.id }

// Enforcement returns what is enforced, and what is not. It does not change
// while the session lives, and the caller must not change it.
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

// Processes returns the live processes of the session. After Close the error is
// of reason ErrNotFound.
func (s *Session) Processes(ctx context.Context) ([]core.Process, error) {
	return s.host.tracker.List(ctx, s.opened.Handle)
}

// Kill kills every process of the session, which stays open for other commands.
// After Close it has nothing to kill and succeeds.
func (s *Session) Kill(ctx context.Context) (*core.KillReport, error) {
	return s.host.tracker.Kill(ctx, s.opened.Handle)
}
