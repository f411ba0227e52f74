package sdk

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/core/backendpb"
	"github.com/pinfold/pinfold/core/lifeline"
	"github.com/pinfold/pinfold/core/wire"
)

const asBackend = "PINFOLD_TEST_SERVE"

// TestMain is also a backend that nobody or a broken host started.
func TestMain(m *testing.M) {
	switch os.Getenv(asBackend) {
	case "":
		os.Exit(m.Run())
	case "nothing":
		Serve(Backends{})
	default:
		Serve(Backends{Confiner: both{}})
	}
}

// both is a confiner and a tracker that answers nothing.
type both struct {
	core.Confiner
	core.Tracker
}

func (both) Describe(context.Context) (*core.Description, error) {
	return &core.Description{Name: "both", Version: "1", Platform: "p"}, nil
}

func (both) Probe(context.Context) (*core.Capability, error) { return nil, errors.New("no") }

// A backend that a person starts says what it is.
func TestServeWithoutHost(t *testing.T) {
	for name, c := range map[string]struct {
		env  []string
		want string
	}{
		"a person":    {[]string{asBackend + "=1"}, "this is a Pinfold backend: a host application starts it, not a person"},
		"no services": {[]string{asBackend + "=nothing", wire.CookieKey + "=" + wire.CookieValue}, "serves neither a confiner nor a tracker"},
		"no lifeline": {[]string{asBackend + "=1", wire.CookieKey + "=" + wire.CookieValue}, "PINFOLD_LIFELINE=\"\" names no descriptor"},
		"a lifeline that is none": {
			[]string{asBackend + "=1", wire.CookieKey + "=" + wire.CookieValue, lifeline.EnvKey + "=2"}, "names no descriptor"},
	} {
		t.Run(name, func(t *testing.T) {
			path, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(path)
			cmd.Env = append(c.env, "GORACE=atexit_sleep_ms=0")
			var out, diagnosis strings.Builder
			cmd.Stdout, cmd.Stderr = &out, &diagnosis
			cmd.Run()
			if cmd.ProcessState.ExitCode() != 2 || !strings.Contains(diagnosis.String(), c.want) || out.Len() != 0 {
				t.Errorf("status %d, output %q, error output %q; want status 2 and %q",
					cmd.ProcessState.ExitCode(), out.String(), diagnosis.String(), c.want)
			}
		})
	}
}

// What serves as both is told once that the host is gone, whatever its type.
func TestBackendsAreCountedOnce(t *testing.T) {
	type uncomparable struct {
		both
		_ []int
	}
	pointer := &uncomparable{}
	for name, c := range map[string]struct {
		b    Backends
		want int
	}{
		"one":          {Backends{Tracker: both{}}, 1},
		"one for both": {Backends{Confiner: pointer, Tracker: pointer}, 1},
		"two":          {Backends{Confiner: pointer, Tracker: &uncomparable{}}, 2},
		"uncomparable": {Backends{Confiner: uncomparable{}, Tracker: uncomparable{}}, 2},
	} {
		if got := len(newServer(c.b, nil).backends()); got != c.want {
			t.Errorf("%s: %d backends, want %d", name, got, c.want)
		}
	}
}

// call sends a request through the interceptor.
func call(s *server, request any, handler grpc.UnaryHandler) error {
	_, err := s.unary(context.Background(), request, nil, handler)
	return err
}

func TestRequestsThatAreNotUnderstood(t *testing.T) {
	s := newServer(Backends{Confiner: both{}}, nil)
	handled := false
	handler := func(context.Context, any) (any, error) { handled = true; return nil, nil }
	request := &backendpb.PlanRequest{Policy: &backendpb.Policy{Filesystem: &backendpb.Filesystem{}}}
	if err := call(s, request, handler); err != nil || !handled {
		t.Fatalf("a good request: %v", err)
	}
	handled = false
	request.Policy.Filesystem.ProtoReflect().SetUnknown(
		protowire.AppendVarint(protowire.AppendTag(nil, 900, protowire.VarintType), 1))
	_, err := wire.FromStatus(call(s, request, handler))
	if core.ReasonOf(err) != core.ErrUnknownFeature || handled {
		t.Errorf("got %v, handled: %v", err, handled)
	}
	if err := call(s, "no message", handler); status.Code(err) != codes.Internal || handled {
		t.Errorf("got %v", err)
	}
}

// A stop waits for the calls in flight and refuses new ones.
func TestStopDrains(t *testing.T) {
	s := newServer(Backends{Confiner: both{}}, nil)
	begun, finish := make(chan struct{}), make(chan struct{})
	ended, stopped := make(chan error, 1), make(chan struct{})
	go func() {
		ended <- call(s, &backendpb.DescribeRequest{}, func(context.Context, any) (any, error) {
			close(begun)
			<-finish
			return nil, nil
		})
	}()
	<-begun
	go func() {
		s.stop(time.Minute)
		close(stopped)
	}()
	refused := func() bool {
		err := call(s, &backendpb.DescribeRequest{}, func(context.Context, any) (any, error) { return nil, nil })
		return status.Code(err) == codes.Unavailable
	}
	for !refused() { // until stop has begun
	}
	select {
	case <-stopped:
		t.Error("the stop did not wait")
	default:
	}
	close(finish)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	<-stopped
	s.stop(time.Minute) // again, at once
	if s.served() {
		t.Error("nothing was served")
	}
}
