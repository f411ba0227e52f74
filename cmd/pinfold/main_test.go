//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// binary is the pinfold that the tests drive, built once as it is installed.
var binary string

func TestMain(m *testing.M) {
	if name := os.Getenv("PF_PAYLOAD"); name != "" {
		payload(name)
		return
	}
	flag.Parse()
	dir, err := os.MkdirTemp("", "pfcmd")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "pinfold")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	build.Stderr = os.Stderr
	status := 1
	if build.Run() == nil {
		status = m.Run()
	}
	for _, left := range remains(dir) {
		fmt.Fprintln(os.Stderr, "the tests left behind:", left)
		status = 1
	}
	os.RemoveAll(dir)
	os.Exit(status)
}

// remains returns what is left of the tests: processes that run the binary, and
// cgroups whose name has the pid of a process that is gone.
func remains(dir string) []string {
	var left []string
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		if exe, err := os.Readlink("/proc/" + entry.Name() + "/exe"); err == nil && strings.HasPrefix(exe, dir) {
			left = append(left, "process "+entry.Name())
		}
	}
	return left
}

// requireTracker skips a test that needs sessions where none can be made.
func requireTracker(t *testing.T) {
	t.Helper()
	out, err := exec.Command(binary, "doctor", "--json").Output()
	if err != nil {
		t.Skipf("pinfold doctor: the default preset does not run on this machine: %v\n%s", err, out)
	}
}

// place is a workspace and a temporary directory for one test, both removed at its
// end. The names are short, for a socket's path must be.
type place struct {
	t         *testing.T
	workspace string
	temp      string
	env       []string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	requireTracker(t)
	base, err := os.MkdirTemp("", "pf")
	if err != nil {
		t.Fatal(err)
	}
	base, err = filepath.EvalSymlinks(base)
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, workspace: filepath.Join(base, "w"), temp: filepath.Join(base, "t")}
	for _, dir := range []string{p.workspace, p.temp} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p.env = append(withoutVariable(os.Environ(), "XDG_RUNTIME_DIR"), "TMPDIR="+p.temp, "PWD="+p.workspace)
	t.Cleanup(func() {
		p.checkClean()
		os.RemoveAll(base)
	})
	return p
}

func withoutVariable(env []string, name string) []string {
	var kept []string
	for _, pair := range env {
		if !strings.HasPrefix(pair, name+"=") {
			kept = append(kept, pair)
		}
	}
	return kept
}

// checkClean fails the test if pinfold left anything in the temporary directory
// beside its own, empty.
func (p *place) checkClean() {
	filepath.WalkDir(p.temp, func(path string, entry fs.DirEntry, err error) error {
		own := filepath.Join(p.temp, "pinfold-"+strconv.Itoa(os.Geteuid()))
		if err == nil && path != p.temp && path != own {
			p.t.Errorf("left behind: %s", path)
		}
		return nil
	})
}

// result is what one run of pinfold did.
type result struct {
	status         int
	stdout, stderr string
}

// watchdog is how long a test waits for something that should happen at once
// before it takes it for a hang.
const watchdog = 20 * time.Second

func (p *place) command(args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), watchdog)
	p.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir, cmd.Env = p.workspace, p.env
	return cmd
}

func (p *place) pinfold(args ...string) result { return finish(p.t, p.command(args...)) }

func finish(t *testing.T, cmd *exec.Cmd) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exited *exec.ExitError
	if err != nil && !errors.As(err, &exited) {
		t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// processesWhere returns the processes of which the fields of proc_pid_stat(5),
// from the state on, fulfil a condition: state, parent, group, session, …
func processesWhere(condition func(stat []string) bool) []int {
	var found []int
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile("/proc/" + entry.Name() + "/stat")
		if err != nil {
			continue
		}
		if stat := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])); condition(stat) {
			found = append(found, pid)
		}
	}
	return found
}

// waitFor waits until condition holds.
func waitFor(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(watchdog); !condition(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
