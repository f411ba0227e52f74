package sdk

import (
	"context"
	"os"
	"os/signal"
	"reflect"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/core/wire"
)

// server is the one backend process: its services, and the calls in flight.
type server struct {
	plugin.NetRPCUnsupportedPlugin

	confiner *confinerServer
	tracker  *trackerServer

	mu       sync.Mutex
	grpc     *grpc.Server
	stopping bool
	inFlight int
	idle     chan struct{} // closed when stopping and inFlight is 0

	// quiet is cancelled to end go-plugin's own streams, which would last as
	// long as the connection.
	quiet   context.Context
	silence context.CancelFunc
}

func newServer(b Backends, files wire.FileSender) *server {
	s := &server{idle: make(chan struct{})}
	s.quiet, s.silence = context.WithCancel(context.Background())
	if b.Confiner != nil {
		s.confiner = &confinerServer{backend: b.Confiner, files: files}
	}
	if b.Tracker != nil {
		s.tracker = &trackerServer{backend: b.Tracker, files: files}
	}
	return s
}

// backends returns what is served, a value that is both confiner and tracker
// once.
func (s *server) backends() []core.Backend {
	var list []core.Backend
	if s.confiner != nil {
		list = append(list, s.confiner.backend)
	}
	if s.tracker != nil && !(len(list) == 1 && same(list[0], s.tracker.backend)) {
		list = append(list, s.tracker.backend)
	}
	return list
}

// same compares values of any type, also of those for which == panics.
func same(a, b any) bool {
	return reflect.TypeOf(a).Comparable() && reflect.TypeOf(b).Comparable() && a == b
}

func (s *server) newGRPC(options []grpc.ServerOption) *grpc.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grpc = grpc.NewServer(options...)
	return s.grpc
}

// GRPCClient implements plugin.GRPCPlugin; a backend is never a client.
func (s *server) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, core.ErrInternal
}

// followSignals ends the process in order on SIGTERM. go-plugin dies of it in
// mid-call and leaves its socket behind.
func (s *server) followSignals() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	<-signals
	s.stop(drainTime)
}

// stop refuses new calls, lets those in flight go on for patience, and then ends
// the connection, which makes go-plugin's Serve return.
func (s *server) stop(patience time.Duration) {
	s.mu.Lock()
	if !s.stopping {
		s.stopping = true
		if s.inFlight == 0 {
			close(s.idle)
		}
	}
	g := s.grpc
	s.mu.Unlock()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-s.idle:
	case <-timer.C:
	}
	s.silence()
	if g == nil {
		return
	}
	// A call that has ended has an answer that may not be written yet. Only a
	// graceful stop waits for that.
	if patience > 0 {
		force := time.AfterFunc(flushTime, g.Stop)
		defer force.Stop()
		g.GracefulStop()
		return
	}
	g.Stop()
}

// served reports whether the process got as far as serving.
func (s *server) served() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.grpc != nil
}

func (s *server) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return status.Error(codes.Unavailable, "the backend is stopping")
	}
	s.inFlight++
	return nil
}

func (s *server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight--
	if s.stopping && s.inFlight == 0 {
		close(s.idle)
	}
}

// unary lets a call in if the process is not stopping and its request is
// understood whole.
func (s *server) unary(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	if err := understood(request); err != nil {
		return nil, err
	}
	return handler(ctx, request)
}

// stream counts the contract's own streams. go-plugin's broker and stdio streams
// live as long as the connection and must not hold up the end, so they end when
// the others have.
func (s *server) stream(service any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if _, ours := service.(*trackerServer); !ours {
		ctx, cancel := context.WithCancel(stream.Context())
		defer cancel()
		defer context.AfterFunc(s.quiet, cancel)()
		return handler(service, cancelled{stream, ctx})
	}
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	return handler(service, stream)
}

// cancelled is a stream with a context of its own.
type cancelled struct {
	grpc.ServerStream
	ctx context.Context
}

// Context implements [grpc.ServerStream].
func (c cancelled) Context() context.Context { return c.ctx }

func understood(request any) error {
	m, ok := request.(proto.Message)
	if !ok {
		return status.Errorf(codes.Internal, "a request of type %T", request)
	}
	return wire.ToStatus(wire.CheckUnderstood(m), nil)
}
