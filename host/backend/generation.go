package backend

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/core/lifeline"
	"github.com/pinfold/pinfold/core/peercred"
	"github.com/pinfold/pinfold/core/wire"
)

const (
	// maxSocketPath is the shortest limit of the systems: 104 bytes on macOS
	// with the final NUL, 108 on Linux (unix(7)).
	maxSocketPath = 103
	// socketNameRoom is what go-plugin adds: "/plugin-dir" with up to ten digits
	// and "/plugin" with as many.
	socketNameRoom = len("/plugin-dir") + 10 + len("/plugin") + 10
)

// generation is one process of a backend, from its start to its end.
type generation struct {
	line   *lifeline.Conn
	proc   *process
	client *plugin.Client
	// dir is the directory with the backend's socket.
	dir string

	conn *grpc.ClientConn

	mu    sync.Mutex
	conns []*grpc.ClientConn // every one that go-plugin has made

	alive context.Context // cancelled when the process is dead
	died  context.CancelFunc
}

// start starts program and waits for its handshake.
func start(program Program, socketDir string, env []string, limit time.Duration, logger hclog.Logger) (*generation, error) {
	if len(socketDir)+socketNameRoom > maxSocketPath {
		return nil, fmt.Errorf("the directory %q for the backend's socket makes a path longer than %d bytes: "+
			"set XDG_RUNTIME_DIR or TMPDIR to a shorter one", socketDir, maxSocketPath)
	}
	line, backendEnd, err := lifeline.Pair()
	if err != nil {
		return nil, err
	}
	proc, err := newProcess(program, backendEnd, logger)
	if err != nil {
		line.Close()
		return nil, err
	}
	g := &generation{line: line, proc: proc}
	g.alive, g.died = context.WithCancel(context.Background())
	g.client = plugin.NewClient(g.config(socketDir, env, limit, logger))
	go g.follow()
	if err := g.connect(limit); err != nil {
		err = g.explain(err)
		g.end(0)
		return nil, err
	}
	return g, nil
}

func (g *generation) config(socketDir string, env []string, limit time.Duration, logger hclog.Logger) *plugin.ClientConfig {
	return &plugin.ClientConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			ProtocolVersion:  wire.ProtocolVersion,
			MagicCookieKey:   wire.CookieKey,
			MagicCookieValue: wire.CookieValue,
		},
		Plugins:          plugin.PluginSet{wire.PluginName: connection{}},
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		StartTimeout:     limit,
		SkipHostEnv:      true,
		Logger:           logger,
		// What a backend prints after Serve comes over the connection.
		SyncStdout:       g.proc.stray,
		SyncStderr:       g.proc.stray,
		UnixSocketConfig: &plugin.UnixSocketConfig{TempDir: socketDir},
		RunnerFunc: func(_ hclog.Logger, spec *exec.Cmd, dir string) (runner.Runner, error) {
			g.dir = dir
			g.proc.cmd.Env = append(append([]string(nil), env...), spec.Env...)
			return g.proc, nil
		},
		GRPCDialOptions: []grpc.DialOption{
			grpc.WithTransportCredentials(peercred.New(g.proc.pid)),
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(wire.MaxMessage), grpc.MaxCallSendMsgSize(wire.MaxMessage)),
			grpc.WithStreamInterceptor(g.stream),
		},
	}
}

// connect starts the process and connects to it, both within limit. go-plugin
// itself bounds the handshake but not the connection.
func (g *generation) connect(limit time.Duration) error {
	watchdog := time.AfterFunc(limit, func() { g.proc.Kill(context.Background()) })
	protocol, err := g.client.Client()
	if !watchdog.Stop() {
		return fmt.Errorf("it did not connect within %v", limit)
	}
	if err != nil {
		return handshakeError(err, limit)
	}
	raw, err := protocol.Dispense(wire.PluginName)
	if err != nil {
		return err
	}
	conn, ok := raw.(*grpc.ClientConn)
	if !ok {
		return errors.New("the connection is not gRPC")
	}
	g.conn = conn
	return nil
}

// handshakeError says in this project's words what go-plugin says of a program
// that is no backend.
func handshakeError(err error, limit time.Duration) error {
	switch text := err.Error(); {
	case strings.HasPrefix(text, "Unrecognized remote plugin message"), strings.HasPrefix(text, "plugin exited before"):
		return errors.New("it ended its output without the handshake of a backend")
	case strings.HasPrefix(text, "incompatible API version"):
		return fmt.Errorf("it speaks another version of the contract than %d", core.ContractVersion)
	case status.Code(err) == codes.Canceled:
		return errors.New("it ended between its handshake and the connection")
	case strings.HasPrefix(text, "timeout while waiting"):
		return fmt.Errorf("it did not connect within %v", limit)
	}
	return err
}

// stream is the interceptor of streams. It keeps go-plugin's broker, which is not
// used, from opening one, and ends go-plugin's other stream with the process.
//
// Both matter for a backend that dies between handshake and connection while a
// descendant holds its socket. go-plugin opens the stream under a lock that it
// needs to take notice of the death, and waits until gRPC gives up, for 20
// seconds; then it drops connection and broker without closing them.
func (g *generation) stream(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string,
	streamer grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
	g.keep(conn)
	switch method {
	case "/plugin.GRPCBroker/StartStream":
		return nil, status.Error(codes.Unimplemented, "the broker is not used")
	case "/plugin.GRPCStdio/StreamStdio":
		stdio, cancel := context.WithCancel(ctx)
		context.AfterFunc(g.alive, cancel)
		ctx = stdio
	}
	return streamer(ctx, desc, conn, method, options...)
}

func (g *generation) keep(conn *grpc.ClientConn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !slices.Contains(g.conns, conn) {
		g.conns = append(g.conns, conn)
	}
}

// follow declares the generation dead as soon as the process has ended or has
// closed its lifeline, whichever comes first: a descendant that holds one of its
// descriptors delays nothing.
func (g *generation) follow() {
	select {
	case <-g.line.Done():
	case <-g.proc.exited:
	}
	g.died()
}

// dead reports whether the process is dead. follow may not have run yet.
func (g *generation) dead() bool {
	select {
	case <-g.line.Done():
	case <-g.proc.exited:
	case <-g.alive.Done():
	default:
		return false
	}
	return true
}

// explain adds to the error of a start how the process ended.
func (g *generation) explain(err error) error {
	select {
	case <-g.proc.started:
	default:
		return err // nothing ran
	}
	if g.proc.cmd.Process == nil {
		return err
	}
	g.proc.Kill(context.Background())
	return fmt.Errorf("%w (%s)", err, g.proc.epitaph(epitaphLimit))
}

// end ends the process: in order if it does within patience, else by force. It
// may be called more than once.
func (g *generation) end(patience time.Duration) {
	select {
	case <-g.proc.started:
		if patience > 0 {
			g.proc.end(patience)
		} else {
			g.proc.Kill(context.Background())
		}
	default:
		g.proc.abandon()
	}
	g.client.Kill()
	g.mu.Lock()
	for _, conn := range g.conns {
		conn.Close()
	}
	g.mu.Unlock()
	g.line.Close()
	g.died()
	if g.dir != "" {
		os.RemoveAll(g.dir)
	}
}

// connection is a plugin.GRPCPlugin that hands out the connection itself.
type connection struct{ plugin.NetRPCUnsupportedPlugin }

// GRPCServer implements plugin.GRPCPlugin; a host serves nothing.
func (connection) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error {
	return errors.New("a host serves nothing")
}

// GRPCClient implements plugin.GRPCPlugin.
func (connection) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return conn, nil
}

// passedVariables are the only variables of the host that a backend sees. They
// tell it where the user's home and bus are.
var passedVariables = []string{
	"PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
}

func environment(extra ...string) []string {
	var env []string
	for _, name := range passedVariables {
		if value, set := os.LookupEnv(name); set {
			env = append(env, name+"="+value)
		}
	}
	return append(env, extra...)
}
