package backend

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-plugin"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/pinfold/pinfold/core/backendpb"
	"github.com/pinfold/pinfold/core/lifeline"
	"github.com/pinfold/pinfold/core/peercred"
	"github.com/pinfold/pinfold/core/wire"
)

// runHost starts the backend with that script below the first argument, tells
// the pid of it and the directory of its socket, and waits to be killed.
func runHost(args []string) {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	s := newSupervisor(Program{Name: "scripted", Path: path, Args: args[1:]}, args[0])
	c, err := s.Confiner().Probe(context.Background())
	if err != nil {
		panic(err)
	}
	for _, fact := range c.Facts {
		if fact.Name == "pid" || fact.Name == "sockets" {
			fmt.Println(fact.Name, fact.Value)
		}
	}
	fmt.Println("ready")
	block()
}

// runIntruder calls the socket as any program of the user could, and tells how
// each call ended.
func runIntruder(socket string) {
	conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	for _, method := range []string{"/pinfold.backend.v1.Confiner/Describe", "/plugin.GRPCController/Shutdown"} {
		err := conn.Invoke(context.Background(), method, &emptypb.Empty{}, &emptypb.Empty{})
		fmt.Println(method, status.Code(err))
	}
}

// role runs the test binary in another role and returns the lines it printed.
func role(t *testing.T, args ...string) []string {
	t.Helper()
	cmd := exec.CommandContext(bounded(t), "/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// hostProcess is another process that is a host.
type hostProcess struct {
	cmd   *exec.Cmd
	facts map[string]string
}

func startHost(t *testing.T, args ...string) *hostProcess {
	t.Helper()
	h := &hostProcess{facts: map[string]string{}}
	h.cmd = exec.Command("/proc/self/exe", append([]string{"as-host"}, args...)...)
	h.cmd.Stderr = os.Stderr
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.kill)
	for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != "ready"; {
		name, value, _ := strings.Cut(lines.Text(), " ")
		h.facts[name] = value
	}
	return h
}

func (h *hostProcess) kill() {
	h.cmd.Process.Kill()
	h.cmd.Wait()
}

// waitForEnd returns when the process, of which fd is a pidfd, has ended.
func waitForEnd(t *testing.T, fd int) {
	t.Helper()
	defer unix.Close(fd)
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for end := time.Now().Add(time.Minute); ; {
		n, err := unix.Poll(poll, 1000)
		if n == 1 {
			return
		}
		if err != nil && err != unix.EINTR || time.Now().After(end) {
			t.Fatalf("the process did not end: %v", err)
		}
	}
}

func pidfd(t *testing.T, pid int) int {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	return fd
}

// serveAlien serves a confiner without the SDK. Its answers carry a field that
// the contract does not have. Told to be open, it serves everybody.
func serveAlien(args ...string) {
	line, host, err := lifeline.Inherited()
	if err != nil {
		panic(err)
	}
	go func() {
		<-line.Done()
		os.Exit(0)
	}()
	credentials := peercred.New(func() (int, error) { return host, nil })
	if len(args) > 0 && args[0] == "open" {
		credentials = insecure.NewCredentials()
	}
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			ProtocolVersion: wire.ProtocolVersion, MagicCookieKey: wire.CookieKey, MagicCookieValue: wire.CookieValue,
		},
		Plugins: plugin.PluginSet{wire.PluginName: alien{}},
		GRPCServer: func(options []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(options, grpc.Creds(credentials))...)
		},
	})
}

type alien struct{ plugin.NetRPCUnsupportedPlugin }

func (a alien) GRPCServer(_ *plugin.GRPCBroker, g *grpc.Server) error {
	backendpb.RegisterConfinerServer(g, alienConfiner{})
	backendpb.RegisterTrackerServer(g, alienTracker{})
	return nil
}

func (a alien) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, nil
}

type alienConfiner struct {
	backendpb.UnimplementedConfinerServer
}

func unknownField() []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, 1000, protowire.VarintType), 1)
}

// Describe answers with an unknown field in a message within.
func (alienConfiner) Describe(context.Context, *backendpb.DescribeRequest) (*backendpb.DescribeResponse, error) {
	response := &backendpb.DescribeResponse{Description: &backendpb.Description{Name: "alien", Version: "1", Platform: "p"}}
	response.Description.ProtoReflect().SetUnknown(unknownField())
	return response, nil
}

type alienTracker struct {
	backendpb.UnimplementedTrackerServer
}

// List answers with an unknown field in a message of the stream.
func (alienTracker) List(_ *backendpb.ListRequest, stream grpc.ServerStreamingServer[backendpb.ListResponse]) error {
	page := &backendpb.ListResponse{}
	page.ProtoReflect().SetUnknown(unknownField())
	return stream.Send(page)
}
