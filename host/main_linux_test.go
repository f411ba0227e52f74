package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/core/owner"
	"github.com/pinfold/pinfold/host/backend"
)

// These tests run the standard backends, each in its process, and real commands.
// Most commands are this test binary again, told by its first argument what to
// do: an agent that tries things (agent_linux_test.go), or a host application
// that a test can kill (life_linux_test.go).
//
// At the end nothing may be left: no process, session, directory, descriptor or
// goroutine.

// watchdog is when a test that waits is given up.
const watchdog = 60 * time.Second

var roles = map[string]func(args []string){}

// testDir holds everything that the tests make; ordinary users may read it.
var testDir string

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if role, ok := roles[os.Args[1]]; ok {
			role(os.Args[2:])
			os.Exit(0)
		}
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if testDir, err = os.MkdirTemp("", "pf"); err != nil {
		panic(err)
	}
	defer os.RemoveAll(testDir)
	os.Chmod(testDir, 0o755)
	// Programs built with the race detector wait a second before they exit.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	os.Setenv("TMPDIR", newDir("t"))
	os.Unsetenv("XDG_RUNTIME_DIR")
	if err := buildBackends(newDir("b")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	before := descriptors()
	goroutines := runtime.NumGoroutine()
	status := m.Run()
	if err := shared.close(); err != nil {
		fmt.Fprintln(os.Stderr, "closing the host:", err)
		status = 1
	}
	if left := leftovers(before, goroutines); left != "" {
		fmt.Fprintln(os.Stderr, "left behind:", left)
		status = 1
	}
	return status
}

func newDir(name string) string {
	dir := filepath.Join(testDir, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		panic(err)
	}
	return dir
}

// buildBackends builds the standard backends: these tests must not import them.
func buildBackends(dir string) error {
	build := exec.Command("go", "build", "-o", dir,
		"../plugins/landlock/cmd/pinfold-landlock", "../plugins/cgroup/cmd/pinfold-cgroup")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building the backends: %w\n%s", err, output)
	}
	return os.Setenv(backend.PathEnvKey, dir)
}

// leftovers says what is still there, once what ends by itself has ended.
func leftovers(before map[string]string, goroutines int) string {
	var left string
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if left = leftNow(before, goroutines); left == "" {
			return ""
		}
	}
	return left
}

func leftNow(before map[string]string, goroutines int) string {
	var all []string
	for fd, what := range descriptors() {
		if before[fd] != what {
			all = append(all, "descriptor "+fd+": "+what)
		}
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		var stacks bytes.Buffer
		pprof.Lookup("goroutine").WriteTo(&stacks, 1)
		all = append(all, fmt.Sprintf("%d goroutines: %s", n-goroutines, &stacks))
	}
	if children := childrenOf(os.Getpid()); len(children) > 0 {
		all = append(all, fmt.Sprint("children ", children))
	}
	temps, _ := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "pinfold-*", "*"))
	return strings.Join(append(append(all, temps...), sessionCgroups()...), "\n")
}

// descriptors returns the open descriptors but for those of the Go runtime.
func descriptors() map[string]string {
	fds := map[string]string{}
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		what, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err == nil && !strings.HasPrefix(what, "anon_inode:[event") {
			fds[e.Name()] = what
		}
	}
	return fds
}

func childrenOf(pid int) []string {
	var all []string
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		all = append(all, strings.Fields(string(text))...)
	}
	return all
}

// sessionCgroups returns the cgroups of this process's sessions.
func sessionCgroups() []string {
	var all []string
	me, err := owner.Self()
	if err != nil {
		panic(err)
	}
	mine := fmt.Sprintf("-%d-%d-", me.PID, me.Start)
	for _, root := range []string{"/sys/fs/cgroup/unified", "/sys/fs/cgroup"} {
		filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return nil
			}
			if strings.HasPrefix(d.Name(), "pinfold-") && strings.Contains(d.Name(), mine) {
				all = append(all, path)
			}
			return nil
		})
		if len(all) > 0 {
			break
		}
	}
	return all
}

// shared is a host for all tests that do nothing to it.
var shared sharedHost

type sharedHost struct {
	once sync.Once
	host *Host
	err  error
}

func (s *sharedHost) get() (*Host, error) {
	s.once.Do(func() {
		if s.host, s.err = New(Options{}); s.err == nil {
			s.err = usable(s.host)
		}
	})
	return s.host, s.err
}

func (s *sharedHost) close() error {
	if s.host == nil {
		return nil
	}
	return s.host.Close()
}

// usable reports what the machine lacks for the standard backends.
func usable(h *Host) error {
	for _, b := range []core.Backend{h.Confiner(), h.Tracker()} {
		c, err := b.Probe(context.Background())
		if err != nil {
			return err
		}
		for _, f := range c.Findings {
			if f.Level == core.Unsupported && (f.Dimension == core.Cleanup || f.Dimension == core.FSWrite) {
				return errors.New(describeFinding(f))
			}
		}
	}
	return nil
}

func sharedFor(t testing.TB) *Host {
	t.Helper()
	h, err := shared.get()
	if err != nil {
		t.Skip(err)
	}
	return h
}

// ownHost returns a host that the test may do anything to.
func ownHost(t testing.TB) *Host {
	t.Helper()
	sharedFor(t)
	h, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error("closing the host:", err)
		}
	})
	return h
}

// open opens a session, which is closed at the end of the test.
func open(t testing.TB, h *Host, p core.Policy) *Session {
	t.Helper()
	s, err := h.Open(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := s.Close(context.Background()); err != nil {
			t.Error("closing the session:", err)
		}
	})
	return s
}

// self is the path of this test binary.
func self() string {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return path
}

// forAgents lets commands of the policy be this test binary.
func forAgents(p core.Policy) core.Policy {
	if p.Filesystem.Confined {
		p.Filesystem.Rules = append(p.Filesystem.Rules, core.PathRule{Path: self(), Access: core.Read | core.Execute})
	}
	p.Environment.Set = append(p.Environment.Set, "GORACE=atexit_sleep_ms=0")
	return p
}

// eventually waits until ok, or fails the test.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(watchdog); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it did not happen: %s", what)
		}
	}
}

func writeFile(t testing.TB, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
