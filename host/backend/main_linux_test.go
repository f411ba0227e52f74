package backend

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/core/wire"
	"github.com/pinfold/pinfold/sdk"
)

// The test binary is also the backend, when a host has started it, and the host,
// when a test wants one that it can kill. The arguments are the script.
func TestMain(m *testing.M) {
	switch {
	case os.Getenv(wire.CookieKey) == wire.CookieValue:
		runBackend(os.Args[1], os.Args[2:])
	case len(os.Args) > 1 && os.Args[1] == "as-host":
		runHost(os.Args[2:])
	case len(os.Args) > 1 && os.Args[1] == "as-intruder":
		runIntruder(os.Args[2])
	default:
		os.Exit(m.Run())
	}
}

// init prints before anything of the SDK's runs in main.
func init() {
	if len(os.Args) > 1 && os.Args[1] == "chatty" {
		fmt.Println("an init function prints this")
	}
}

func runBackend(script string, args []string) {
	backends := sdk.Backends{Confiner: &scripted{script: script, args: args}, Tracker: &scriptedTracker{scripted{script: script, args: args}}}
	switch script {
	case "chatty":
		os.NewFile(1, "stdout").WriteString("main prints this before it serves\n")
	case "fails-at-start":
		fmt.Fprintln(os.Stderr, "I have no licence for this machine")
		sdk.NewLogger("test").Error("the dongle is missing", "port", 3)
		os.Exit(3)
	case "panics-at-start":
		panic("out of cheese")
	case "silent":
		block()
	case "stops-after-handshake":
		shakeHands()
		block()
	case "dies-after-handshake":
		shakeHands()
		return
	case "abandons-its-socket":
		abandonSocket()
		return
	case "confiner":
		backends.Tracker = nil
	case "impostor":
		fmt.Printf("1|1|unix|%s|grpc|\n", args[0])
		block()
	case "alien":
		serveAlien(args...)
		return
	}
	go followTermination()
	sdk.Serve(backends)
}

func block() { <-make(chan struct{}) }

// shakeHands announces a socket on which nobody answers.
func shakeHands() *net.UnixListener {
	path := filepath.Join(os.Getenv(plugin.EnvUnixSocketDir), "plugin1")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		panic(err)
	}
	fmt.Printf("1|1|unix|%s|grpc|\n", path)
	return listener
}

// abandonSocket leaves the socket to a descendant once the host has connected.
// It tells the descendant's pid as its last word.
func abandonSocket() {
	socket, err := shakeHands().File()
	if err != nil {
		panic(err)
	}
	heir, err := os.StartProcess("/bin/sleep", []string{"sleep", "1000"}, &os.ProcAttr{Files: []*os.File{nil, nil, nil, socket}})
	if err != nil {
		panic(err)
	}
	unix.Poll([]unix.PollFd{{Fd: int32(socket.Fd()), Events: unix.POLLIN}}, -1)
	fmt.Fprintln(os.Stderr, heir.Pid)
}

// scripted is a confiner that does what its script and the request say.
type scripted struct {
	script string
	args   []string
}

func (s *scripted) Describe(context.Context) (*core.Description, error) {
	d := &core.Description{Name: "scripted", Version: "1.0.0", Platform: "test/test", Features: []string{core.FeatureDenyRules}}
	for i := 0; s.script == "large" && i < 600; i++ {
		d.Features = append(d.Features, fmt.Sprintf("%010000d", i))
	}
	return d, nil
}

// Probe tells about the process.
func (s *scripted) Probe(context.Context) (*core.Capability, error) {
	session, _ := unix.Getsid(0)
	input, _ := io.ReadAll(os.Stdin)
	facts := map[string]string{
		"pid": strconv.Itoa(os.Getpid()), "session": strconv.Itoa(session), "input": string(input),
		"environment": strings.Join(os.Environ(), "\n"), "sockets": os.Getenv(plugin.EnvUnixSocketDir),
	}
	c := &core.Capability{}
	for name, value := range facts {
		c.Facts = append(c.Facts, core.Fact{Name: name, Value: value})
	}
	return c, nil
}

// Plan obeys the name of the policy.
func (s *scripted) Plan(ctx context.Context, request *core.PlanRequest) (*core.Plan, error) {
	order, argument, _ := strings.Cut(request.Policy.Name, " ")
	switch order {
	case "die":
		s.dieUnless(argument)
	case "panic":
		panic("a defect of the backend")
	case "mutter":
		fmt.Fprintln(os.NewFile(2, "stderr"), "the end is near")
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "hang":
		block()
	case "slow":
		report(argument)
		<-terminated
		return s.file()
	case "wait":
		<-ctx.Done()
		return nil, ctx.Err()
	case "refuse":
		return nil, &core.Error{
			Reason: core.ErrNotPermitted, Stage: core.StagePlan, Detail: "opening a path", Path: "/se\xffcret",
			Errno: syscall.EACCES, Remedy: "ask its owner", Err: os.ErrPermission,
		}
	case "file":
		return s.file()
	case "heir":
		return s.heir()
	}
	return &core.Plan{Listing: strconv.Itoa(len(request.Policy.Filesystem.Rules))}, nil
}

// file returns a plan that holds a file.
func (s *scripted) file() (*core.Plan, error) {
	f, err := os.Open("/dev/null")
	if err != nil {
		return nil, err
	}
	return &core.Plan{Birth: core.Birth{Landlock: []core.LandlockRuleset{{File: f}}}}, nil
}

// heir leaves a descendant that holds both outputs, and dies.
func (s *scripted) heir() (*core.Plan, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	heir, err := os.StartProcess("/bin/sleep", []string{"sleep", "1000"}, &os.ProcAttr{
		Files: []*os.File{null, os.NewFile(2, "stderr"), os.NewFile(2, "stderr")},
	})
	if err != nil {
		return nil, err
	}
	report(s.args[0] + " " + strconv.Itoa(heir.Pid))
	syscall.Kill(os.Getpid(), syscall.SIGKILL)
	return nil, nil
}

// dieUnless kills the process, unless the file exists; it makes the file.
func (s *scripted) dieUnless(mark string) {
	if mark != "" {
		f, err := os.OpenFile(mark, os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return
		}
		f.Close()
	}
	syscall.Kill(os.Getpid(), syscall.SIGKILL)
	block()
}

// terminated is closed when SIGTERM has arrived, which the SDK acts on too.
var terminated = make(chan struct{})

func followTermination() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	<-signals
	close(terminated)
}

// HostGone leaves a mark in the file that the script names, after it has logged
// to where nobody reads.
func (s *scripted) HostGone(context.Context) error {
	if s.script != "marks" {
		return nil
	}
	log := sdk.NewLogger("test")
	for range 100 {
		log.Error("the host is gone")
		os.NewFile(2, "stderr").WriteString("nobody reads this\n")
	}
	report(s.args[0] + " gone")
	return nil
}

// report writes a word to a FIFO, given as "PATH WORD".
func report(order string) {
	path, word, _ := strings.Cut(order, " ")
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	fmt.Fprintln(f, word)
}

// policy returns a request with a policy of that name with n rules.
func policy(name string, n int) *core.PlanRequest {
	p := core.ReadOnly("/w")
	p.Name, p.Filesystem.Rules = name, nil
	for i := range n {
		p.Filesystem.Rules = append(p.Filesystem.Rules,
			core.PathRule{Path: fmt.Sprintf("/%03000d", i), Access: core.Read})
	}
	return &core.PlanRequest{Session: core.NewSessionID(), Policy: p}
}

// self is the test binary as a backend with that script.
func self(t testing.TB, script string, args ...string) Program {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Program{Name: "scripted", Path: path, Args: append([]string{script}, args...)}
}

// supervise returns a supervisor of the program that is closed with the test.
func supervise(t testing.TB, program Program) *Supervisor {
	t.Helper()
	s := newSupervisor(program, shortDir(t))
	t.Cleanup(func() { s.Close() })
	return s
}

func newSupervisor(program Program, sockets string) *Supervisor {
	s := New(program, sockets, hclog.NewNullLogger())
	// A program built with the race detector stays for a second when it exits.
	s.env = append(s.env, "GORACE=atexit_sleep_ms=0")
	return s
}

// shortDir is a directory whose path leaves room for a socket's.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "pf")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// bounded ends a test that hangs, with a time far above what any step takes.
func bounded(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// facts asks the backend about its process.
func facts(t testing.TB, s *Supervisor) map[string]string {
	t.Helper()
	c, err := s.Confiner().Probe(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, fact := range c.Facts {
		all[fact.Name] = fact.Value
	}
	return all
}

func backendPID(t testing.TB, s *Supervisor) int {
	t.Helper()
	pid, err := strconv.Atoi(facts(t, s)["pid"])
	if err != nil {
		t.Fatal(err)
	}
	return pid
}
