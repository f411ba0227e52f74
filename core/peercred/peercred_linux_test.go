package peercred_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/pinfold/pinfold/core/peercred"
)

const roleKey = "PINFOLD_TEST_PEER"

// TestMain is also the other process: a client that tells how its call ended, or
// a server that serves until its standard input ends.
func TestMain(m *testing.M) {
	role, socket, _ := strings.Cut(os.Getenv(roleKey), " ")
	switch role {
	case "client":
		fmt.Println(status.Code(call(context.Background(), socket, insecure.NewCredentials())))
	case "server":
		if _, err := serve(socket, insecure.NewCredentials()); err != nil {
			panic(err)
		}
		fmt.Println("ready")
		os.Stdin.Read(make([]byte, 1))
	default:
		os.Exit(m.Run())
	}
}

// serve serves gRPC's health service, which stands for any.
func serve(socket string, c credentials.TransportCredentials, options ...grpc.ServerOption) (*grpc.Server, error) {
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	server := grpc.NewServer(append(options, grpc.Creds(c))...)
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	go server.Serve(listener)
	return server, nil
}

func call(ctx context.Context, socket string, c credentials.TransportCredentials) error {
	conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(c))
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	return err
}

func only(pid int) credentials.TransportCredentials {
	return peercred.New(func() (int, error) { return pid, nil })
}

func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func other(t *testing.T, role, socket string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(bounded(t), "/proc/self/exe")
	cmd.Env = append(os.Environ(), roleKey+"="+role+" "+socket, "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	return cmd
}

func socket(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "s")
}

func TestServerLetsInOneProcess(t *testing.T) {
	for _, c := range []struct {
		name        string
		credentials credentials.TransportCredentials
		here, there string
	}{
		{"this process", only(os.Getpid()), "OK", "Unavailable"},
		{"another process", only(os.Getppid()), "Unavailable", "Unavailable"},
		{"control", insecure.NewCredentials(), "OK", "OK"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := socket(t)
			server, err := serve(path, c.credentials)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(server.Stop)
			if got := status.Code(call(bounded(t), path, insecure.NewCredentials())).String(); got != c.here {
				t.Errorf("a call from this process: %s, want %s", got, c.here)
			}
			out, err := other(t, "client", path).Output()
			if got := strings.TrimSpace(string(out)); err != nil || got != c.there {
				t.Errorf("a call from another process: %s, %v, want %s", got, err, c.there)
			}
		})
	}
}

func TestServerLetsInTheChildItExpects(t *testing.T) {
	path := socket(t)
	var client *exec.Cmd
	expected := make(chan struct{})
	server, err := serve(path, peercred.New(func() (int, error) {
		<-expected
		return client.Process.Pid, nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	client = other(t, "client", path)
	var out strings.Builder
	client.Stdout = &out
	if err := client.Start(); err != nil {
		t.Fatal(err)
	}
	close(expected)
	if err := client.Wait(); err != nil || out.String() != "OK\n" {
		t.Errorf("the child's call: %s, %v", out.String(), err)
	}
}

func TestClientCallsOneProcess(t *testing.T) {
	path := socket(t)
	server := other(t, "server", path)
	in, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer server.Wait()
	defer in.Close()
	if _, err := out.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	if err := call(bounded(t), path, only(server.Process.Pid)); err != nil {
		t.Errorf("the right process: %v", err)
	}
	err = call(bounded(t), path, only(os.Getpid()))
	want := fmt.Sprintf("peercred: process %d is at the other end, and only %d may be", server.Process.Pid, os.Getpid())
	if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), want) {
		t.Errorf("another process: %v, want %q", err, want)
	}
}

func TestHandlersSeeThePeer(t *testing.T) {
	seen := make(chan int, 1)
	path := socket(t)
	server, err := serve(path, only(os.Getpid()), grpc.UnaryInterceptor(
		func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
			if p, ok := peer.FromContext(ctx); ok {
				if info, ok := p.AuthInfo.(peercred.AuthInfo); ok {
					seen <- info.PID
				}
			}
			return handler(ctx, request)
		}))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	if err := call(bounded(t), path, only(os.Getpid())); err != nil {
		t.Fatal(err)
	}
	if pid := <-seen; pid != os.Getpid() {
		t.Errorf("the handler saw %d", pid)
	}
}

func TestHandshakesThatTellNobody(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	tcp, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	pipe, end := net.Pipe()
	defer pipe.Close()
	defer end.Close()
	path := socket(t)
	unixListener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer unixListener.Close()
	local, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	closed, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	unknown := errors.New("nobody is there yet")
	for _, c := range []struct {
		name        string
		credentials credentials.TransportCredentials
		conn        net.Conn
		want        string
	}{
		{"TCP", only(os.Getpid()), tcp, "peercred: a tcp connection does not tell its peer"},
		{"a pipe", only(os.Getpid()), pipe, "peercred: a pipe connection does not tell its peer"},
		{"closed", only(os.Getpid()), closed, "use of closed"},
		{"nobody expected", peercred.New(func() (int, error) { return 0, unknown }), local, "peercred: nobody is there yet"},
		{"pid 0", only(0), local, "and only 0 may be"},
		{"pid -1", only(-1), local, "and only -1 may be"},
	} {
		for side, handshake := range map[string]func() (net.Conn, credentials.AuthInfo, error){
			"client": func() (net.Conn, credentials.AuthInfo, error) {
				return c.credentials.ClientHandshake(context.Background(), "", c.conn)
			},
			"server": func() (net.Conn, credentials.AuthInfo, error) { return c.credentials.ServerHandshake(c.conn) },
		} {
			if conn, info, err := handshake(); err == nil || conn != nil || info != nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %s: %v, %v, %v, want %q", c.name, side, conn, info, err, c.want)
			}
		}
	}
	if conn, _, err := only(os.Getpid()).Clone().ClientHandshake(context.Background(), "", local); err != nil || conn != local {
		t.Errorf("the control: %v", err)
	}
	if only(1).Info().SecurityProtocol == "" {
		t.Error("the protocol has no name")
	}
}
