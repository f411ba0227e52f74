package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/core/owner"
	"github.com/pinfold/pinfold/host/backend"
)

// Options configure a Host. The zero value uses the standard backends of the
// platform.
type Options struct {
	// Confiner and Tracker name the backends, or are paths of their programs.
	// Empty means the platform's standard ones. See [backend.Find] for where
	// they are looked for.
	Confiner, Tracker string
	// Embedded is a pinfold executable to take the standard backends from, for
	// a program that is one. Installed backends come first all the same.
	Embedded string
	// Wrappers are the system programs, as absolute paths, that a confiner may
	// put in front of a command. Programs of the confiner's own package need
	// not be listed.
	Wrappers []string
	// Logger receives the backends' logs. The default discards them.
	Logger hclog.Logger
}

// A Host loads backends and opens sessions. Its methods may be called from
// several goroutines at once. Close it when done: that ends its backends, and
// sessions that are still open with them.
type Host struct {
	options  Options
	confiner *backend.Supervisor
	tracker  *backend.Supervisor
	owner    core.Owner
	temp     string // where sessions get their temporary directories

	mu       sync.Mutex
	sessions map[core.SessionID]*Session
	closed   bool
	guess    []core.Constraint // see lastConstraints
	guessed  bool

	sweepOnce sync.Once
	sweeping  sync.WaitGroup
}

// New finds the backends and returns a host. It starts nothing: backends are
// started when they are needed first.
func New(o Options) (*Host, error) {
	standardConfiner, standardTracker := standardBackends()
	if o.Confiner == "" {
		o.Confiner = standardConfiner
	}
	if o.Tracker == "" {
		o.Tracker = standardTracker
	}
	if o.Confiner == "" || o.Tracker == "" {
		return nil, &core.Error{
			Reason: core.ErrUnsupported, Stage: core.StageBackend,
			Detail: "Pinfold has no backend for " + runtime.GOOS,
			Remedy: "name a confiner and a tracker of your own",
		}
	}
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	self, err := owner.Self()
	if err != nil {
		return nil, fmt.Errorf("finding out who this process is: %w", err)
	}
	sockets, err := privateDir(socketParent())
	if err != nil {
		return nil, err
	}
	temp, err := privateDir(os.TempDir())
	if err != nil {
		return nil, err
	}
	h := &Host{options: o, owner: self, temp: temp, sessions: map[core.SessionID]*Session{}}
	if h.tracker, err = supervise(o.Tracker, sockets, &o); err != nil {
		return nil, err
	}
	h.confiner = h.tracker // one program may serve both
	if o.Confiner != o.Tracker {
		h.confiner, err = supervise(o.Confiner, sockets, &o)
	}
	return h, err
}

func supervise(name, sockets string, o *Options) (*backend.Supervisor, error) {
	program, err := find(name, o.Embedded)
	if err != nil {
		return nil, err
	}
	return backend.New(program, sockets, o.Logger), nil
}

func find(name, embedded string) (backend.Program, error) {
	program, err := backend.Find(name)
	if err == nil && !program.IsEmbedded() {
		return program, nil
	}
	if embedded != "" && (err == nil || errors.Is(err, core.ErrNotFound)) {
		return backend.Embedded(embedded, name), nil
	}
	return program, err
}

// Confiner returns the host's confiner, for probing.
func (h *Host) Confiner() core.Confiner { return h.confiner.Confiner() }

// Tracker returns the host's tracker, for looking after sessions of any owner.
func (h *Host) Tracker() core.Tracker { return h.tracker.Tracker() }

// Start starts both backends side by side, so that the first Open need not wait.
func (h *Host) Start() error {
	failed := make(chan error, 1)
	go func() { failed <- h.confiner.Start() }()
	return errors.Join(h.tracker.Start(), <-failed)
}

// Sweep closes the sessions that dead hosts of this user left behind, and
// removes their temporary directories.
func (h *Host) Sweep(ctx context.Context) (*core.SweepReport, error) {
	report, err := h.Tracker().Sweep(ctx)
	if err != nil {
		return nil, err
	}
	sessions, err := h.Tracker().Sessions(ctx)
	if err != nil {
		return report, err
	}
	return report, sweepTemp(h.temp, sessions)
}

// sweepLater sweeps once in the life of the host, beside the first session. What
// it fails to remove harms nobody's session, so it is logged and left to
// "pinfold sweep".
func (h *Host) sweepLater() {
	h.sweepOnce.Do(func() {
		h.sweeping.Add(1)
		go func() {
			defer h.sweeping.Done()
			if _, err := h.Sweep(context.Background()); err != nil && !errors.Is(err, core.ErrClosed) {
				h.options.Logger.Warn("sweeping what dead hosts left", "error", err)
			}
		}()
	})
}

// Close closes every session that is still open, and ends the backends.
func (h *Host) Close() error {
	h.mu.Lock()
	h.closed = true
	var open []*Session
	for _, s := range h.sessions {
		open = append(open, s)
	}
	h.mu.Unlock()
	var errs []error
	for _, s := range open {
		_, err := s.Close(context.Background())
		errs = append(errs, err)
	}
	h.sweeping.Wait()
	return errors.Join(append(errs, h.confiner.Close(), h.tracker.Close())...)
}

func (h *Host) add(s *Session) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return &core.Error{Reason: core.ErrClosed, Stage: core.StageOpen, Detail: "the host is closed"}
	}
	h.sessions[s.id] = s
	return nil
}

func (h *Host) remove(s *Session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.sessions, s.id)
}
