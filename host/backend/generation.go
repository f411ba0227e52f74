package backend

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"

	"github.com/pinfold/pinfold/core/lifeline"
	"github.com/pinfold/pinfold/core/peercred"
	"github.com/pinfold/pinfold/core/wire"
)

const (
	// startTimeout bounds a backend's start up to its handshake. A cold start
	// takes some milliseconds; a loaded machine takes longer.
	startTimeout = 5 * time.Second
	// endTimeout is how long a backend may take to finish its calls.
	endTimeout = 6 * time.Second
	// maxSocketPath is the shortest limit of the systems: 104 bytes on macOS
	// with the final NUL, 108 on Linux (unix(7)).
	maxSocketPath = 103
	// socketNameRoom is what go-plugin adds: "/plugin-dir" with up to ten digits
	// and "/plugin" with as many.
	socketNameRoom = len("/plugin-dir") + 10 + len("/plugin") + 10
)

// generation is one process of a backend, from its start to its end.
type generation struct {
	conn   *grpc.ClientConn
	line   *lifeline.Conn
	alive  context.Context // cancelled at the end of the lifeline
	client *plugin.Client
	proc   *process
}

// start starts program and waits for its handshake.
func start(program Program, socketDir string, env []string, logger hclog.Logger) (*generation, error) {
	if len(socketDir)+socketNameRoom > maxSocketPath {
		return nil, fmt.Errorf("the directory %q for the backend's socket makes a path longer than %d bytes; "+
			"set XDG_RUNTIME_DIR or TMPDIR to a shorter one", socketDir, maxSocketPath)
	}
	line, backendEnd, err := lifeline.Pair()
	if err != nil {
		return nil, err
	}
	alive, died := context.WithCancel(context.Background())
	go func() {
		<-line.Done()
		died()
	}()
	g := &generation{line: line, alive: alive}
	g.client = plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			ProtocolVersion:  wire.ProtocolVersion,
			MagicCookieKey:   wire.CookieKey,
			MagicCookieValue: wire.CookieValue,
		},
		Plugins:          plugin.PluginSet{wire.PluginName: connection{}},
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		StartTimeout:     startTimeout,
		SkipHostEnv:      true,
		Logger:           logger,
		UnixSocketConfig: &plugin.UnixSocketConfig{TempDir: socketDir},
		RunnerFunc: func(_ hclog.Logger, spec *exec.Cmd, _ string) (runner.Runner, error) {
			var err error
			g.proc, err = newProcess(program, append(env, spec.Env...), backendEnd)
			return g.proc, err
		},
		GRPCDialOptions: []grpc.DialOption{
			grpc.WithTransportCredentials(peercred.New(func() (int, error) { return g.proc.pid() })),
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(wire.MaxMessage), grpc.MaxCallSendMsgSize(wire.MaxMessage)),
		},
	})
	if g.conn, err = dispense(g.client); err != nil {
		backendEnd.Close()
		g.end(0)
		return nil, err
	}
	return g, nil
}

func dispense(client *plugin.Client) (*grpc.ClientConn, error) {
	protocol, err := client.Client()
	if err != nil {
		return nil, err
	}
	raw, err := protocol.Dispense(wire.PluginName)
	if err != nil {
		return nil, err
	}
	conn, ok := raw.(*grpc.ClientConn)
	if !ok {
		return nil, errors.New("the connection is not gRPC")
	}
	return conn, nil
}

// dead reports whether the process has closed its end of the lifeline.
func (g *generation) dead() bool { return g.alive.Err() != nil }

// end ends the process: in order if it does within patience, else by force. It
// may be called more than once.
func (g *generation) end(patience time.Duration) {
	if g.proc != nil {
		if patience > 0 {
			g.proc.end(patience)
		} else {
			g.proc.Kill(context.Background())
		}
	}
	g.client.Kill()
	g.line.Close()
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
