package sdk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/core/backendpb"
	"github.com/pinfold/pinfold/core/lifeline"
	"github.com/pinfold/pinfold/core/peercred"
	"github.com/pinfold/pinfold/core/wire"
)

// Backends is what one backend process serves: a confiner, a tracker, or both.
type Backends struct {
	Confiner core.Confiner
	Tracker  core.Tracker
}

// A HostWatcher is a backend that has something to do when its host dies. A
// tracker ends the sessions that the host left.
type HostWatcher interface {
	// HostGone is called once, just before the process exits. Calls of the host
	// that were in flight have been cancelled and have ended, unless one ignored
	// its context for five seconds. It has until ctx ends, and nobody reads what
	// it logs.
	HostGone(ctx context.Context) error
}

const (
	// drainTime is how long calls in flight may go on after SIGTERM.
	drainTime = 5 * time.Second
	// flushTime is how long answers may take to be written after that.
	flushTime = 500 * time.Millisecond
	// hostGoneTime is how long HostGone may take.
	hostGoneTime = 15 * time.Second
)

// Serve serves b to the host that started this process, and returns when the
// host has told it to stop. Started by anything else, it says so on standard
// error and exits with status 2.
//
// Call it first in main: nothing may be printed on standard output before it,
// and it takes over SIGTERM and SIGINT.
func Serve(b Backends) {
	if err := serve(b); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", filepath.Base(os.Args[0]), err)
		os.Exit(2)
	}
}

// NewLogger returns a logger whose lines the host shows under the backend's
// name. Create it once; hclog loggers may be used from several goroutines.
func NewLogger(name string) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{
		Name:       name,
		Output:     diagnostics,
		JSONFormat: true,
		Level:      hclog.LevelFromString(os.Getenv(wire.LogLevelKey)),
	})
}

var errNoHost = errors.New("this is a Pinfold backend: a host application starts it, not a person " +
	"(to see what it is, run: pinfold backend describe PATH)")

func serve(b Backends) error {
	if os.Getenv(wire.CookieKey) != wire.CookieValue {
		return errNoHost
	}
	if b.Confiner == nil && b.Tracker == nil {
		return errors.New("the program serves neither a confiner nor a tracker")
	}
	line, hostPID, err := lifeline.Inherited()
	if err != nil {
		return err
	}
	// Standard error ends with the host. A write to it would then end this
	// process by SIGPIPE, in the middle of what HostGone does; caught, it fails.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	s := newServer(b, line)
	go s.followHost(line)
	go s.followSignals()
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			ProtocolVersion:  wire.ProtocolVersion,
			MagicCookieKey:   wire.CookieKey,
			MagicCookieValue: wire.CookieValue,
		},
		Plugins: plugin.PluginSet{wire.PluginName: s},
		Logger:  NewLogger("plugin"),
		GRPCServer: func(options []grpc.ServerOption) *grpc.Server {
			return s.newGRPC(append(options,
				grpc.Creds(peercred.New(func() (int, error) { return hostPID, nil })),
				grpc.MaxRecvMsgSize(wire.MaxMessage),
				grpc.MaxSendMsgSize(wire.MaxMessage),
				grpc.UnaryInterceptor(s.unary),
				grpc.StreamInterceptor(s.stream),
			))
		},
	})
	select {
	case <-line.Done():
		select {} // followHost ends the process
	default:
	}
	if !s.served() {
		return errors.New("the connection for the host could not be set up")
	}
	return nil
}

// followHost ends the process when the host is gone: go-plugin itself would let
// it live on for ever.
func (s *server) followHost(line *lifeline.Conn) {
	<-line.Done()
	// This cuts the calls in flight. Those that do not end for it may still be
	// making what HostGone is there to remove.
	s.stop(0)
	select {
	case <-s.idle:
	case <-time.After(drainTime):
	}
	ctx, cancel := context.WithTimeout(context.Background(), hostGoneTime)
	defer cancel()
	status := 0
	for _, backend := range s.backends() {
		watcher, ok := backend.(HostWatcher)
		if !ok {
			continue
		}
		if err := watcher.HostGone(ctx); err != nil {
			fmt.Fprintf(diagnostics, "after the end of the host: %v\n", err)
			status = 1
		}
	}
	removeSocketDir()
	os.Exit(status)
}

// removeSocketDir removes what the host would have removed: the directory with
// this process's socket, which is the backend's alone.
func removeSocketDir() {
	dir := os.Getenv(plugin.EnvUnixSocketDir)
	if dir == "" {
		return
	}
	sockets, err := filepath.Glob(filepath.Join(dir, "plugin*"))
	if err != nil {
		return
	}
	for _, socket := range sockets {
		os.Remove(socket)
	}
	os.Remove(dir)
}

// GRPCServer and GRPCClient make server a plugin.GRPCPlugin.
func (s *server) GRPCServer(_ *plugin.GRPCBroker, g *grpc.Server) error {
	if s.confiner != nil {
		backendpb.RegisterConfinerServer(g, s.confiner)
	}
	if s.tracker != nil {
		backendpb.RegisterTrackerServer(g, s.tracker)
	}
	return nil
}
