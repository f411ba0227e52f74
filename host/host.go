package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

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
	// MoveHost permits the tracker to move this process into a cgroup of its own if
	// it can make no session otherwise. On Linux that is so in a login session (ssh,
	// a terminal) of any user but root. The tracker then asks the user's systemd for
	// a scope, when the first session is opened, and the process stays in it until
	// it ends. What that changes for the process:
	//   - It is of the user manager, no more of the login session. The session's
	//     end, loginctl kill-session and the session's limits no longer reach it.
	//   - It ends with the user manager, which is soon after the user's last
	//     logout, unless the user lingers (loginctl enable-linger).
	//   - What it starts from then on, in sessions or not, is in the scope too;
	//     what it started before is not.
	//
	// Without it, opening a session there fails, and the error says so.
	MoveHost bool
	// Logger receives the backends' logs. The default discards them.
	Logger hclog.Logger
}

// A Host loads backends and opens sessions. Its methods may be called from
// several goroutines at once. Close it when done: that ends the sessions that
// are still open, and the backends.
//
// While sessions are open, a tracker's process that dies is started again at
// once: it is what ends the sessions if the host's own process is killed.
type Host struct {
	options  Options
	confiner core.Confiner
	tracker  core.Tracker
	owner    core.Owner
	sockets  string // where backends have their sockets
	temp     string // where sessions get their temporary directories

	// The processes behind confiner and tracker; one program may be both.
	confinerProcess, trackerProcess process

	life    context.Context // ends when Close begins
	endLife context.CancelFunc
	work    sync.WaitGroup // openings and the sweep

	guardOnce  sync.Once
	guardStop  chan struct{} // closed when Close is done
	guardEnded chan struct{}

	closing sync.Mutex // one Close at a time

	mu        sync.Mutex
	sessions  map[core.SessionID]*Session // those that are open
	opening   int                         // how many are about to be
	closed    bool
	guess     []core.Constraint // see lastConstraints
	guessed   bool
	swept     bool
	incidents []Incident
}

// process is what a Host needs of a [backend.Supervisor] beside its calls.
type process interface {
	Program() backend.Program
	Start() error
	Deaths() <-chan struct{}
	Close() error
}

var _ process = (*backend.Supervisor)(nil)

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
	h, err := newHost(o)
	if err != nil {
		return nil, err
	}
	tracker, err := supervise(o.Tracker, h.sockets, &o)
	if err != nil {
		return nil, err
	}
	confiner := tracker
	if o.Confiner != o.Tracker {
		if confiner, err = supervise(o.Confiner, h.sockets, &o); err != nil {
			return nil, err
		}
	}
	h.tracker, h.trackerProcess = tracker.Tracker(), tracker
	h.confiner, h.confinerProcess = confiner.Confiner(), confiner
	return h, nil
}

// newHost returns a host without backends.
func newHost(o Options) (*Host, error) {
	self, err := owner.Self()
	if err != nil {
		return nil, fmt.Errorf("finding out who this process is: %w", err)
	}
	h := &Host{
		options: o, owner: self, sessions: map[core.SessionID]*Session{},
		guardStop: make(chan struct{}), guardEnded: make(chan struct{}),
	}
	h.life, h.endLife = context.WithCancel(context.Background())
	if h.sockets, err = privateDir(socketParent()); err != nil {
		return nil, err
	}
	h.temp, err = privateDir(os.TempDir())
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
func (h *Host) Confiner() core.Confiner { return h.confiner }

// Tracker returns the host's tracker, for looking after sessions of any owner.
func (h *Host) Tracker() core.Tracker { return h.tracker }

// Start starts both backends side by side, so that the first Open need not wait.
func (h *Host) Start() error {
	failed := make(chan error, 1)
	go func() { failed <- h.confinerProcess.Start() }()
	return errors.Join(h.trackerProcess.Start(), <-failed)
}

// closeTime bounds how long Close takes for all sessions together: twice the
// time that a call to a tracker which hangs takes to fail.
const closeTime = 30 * time.Second

// closersAtOnce is how many sessions Close closes at a time. Most of a close is
// waiting for the kernel.
const closersAtOnce = 16

// Close closes every session that is still open, and ends the backends. Calls
// of Open that are under way fail.
//
// If a session cannot be closed within half a minute, the error says so, and the
// backends go on: they are what ends the session together with this process.
// Close may then be called again. After it has succeeded, it does nothing.
func (h *Host) Close() error {
	h.closing.Lock()
	defer h.closing.Unlock()
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.endLife()
	h.work.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	err := h.closeSessions(ctx)
	if n := h.openSessions(); n > 0 {
		return &core.Error{
			Reason: core.ReasonOf(err), Stage: core.StageClose, Err: err,
			Detail: fmt.Sprintf("%d sessions could not be closed", n),
			Remedy: "close the host again; what is left ends with this process, or by pinfold sweep",
		}
	}
	h.stopGuard()
	return errors.Join(err, h.confinerProcess.Close(), h.trackerProcess.Close())
}

// closeSessions closes every open session.
func (h *Host) closeSessions(ctx context.Context) error {
	h.mu.Lock()
	open := make(chan *Session, len(h.sessions))
	for _, s := range h.sessions {
		open <- s
	}
	h.mu.Unlock()
	close(open)
	errs := make(chan error, cap(open))
	var closers sync.WaitGroup
	for range min(closersAtOnce, cap(open)) {
		closers.Go(func() {
			for s := range open {
				if _, err := s.end(ctx); err != nil {
					errs <- fmt.Errorf("session %s: %w", s.id, err)
				}
			}
		})
	}
	closers.Wait()
	close(errs)
	var all []error
	for err := range errs {
		all = append(all, err)
	}
	return errors.Join(all...)
}

func (h *Host) openSessions() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.sessions)
}

func errHostClosed() error {
	return &core.Error{Reason: core.ErrClosed, Stage: core.StageOpen, Detail: "the host is closed"}
}
