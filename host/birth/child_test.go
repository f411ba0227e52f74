//go:build linux && (amd64 || arm64)

package birth

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
)

// TestMain makes the test binary its own command under test: as argv[0] it gets
// childName, then the name of a child function and its arguments.
func TestMain(m *testing.M) {
	if os.Args[0] == childName {
		children[os.Args[1]](os.Args[2:])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const childName = "birth-child"

// fast spares a child built with the race detector its second of sleep at exit.
const fast = "GORACE=atexit_sleep_ms=0"

var children map[string]func(args []string)

func init() {
	children = map[string]func([]string){
		"state":      printState,
		"try":        tryAll,
		"attempt":    printAttempt,
		"hide":       hide,
		"foreground": foreground,
		"nofile":     nofile256,
		"sets":       bearSets,
		"exit":       func(args []string) { code, _ := strconv.Atoi(args[0]); os.Exit(code) },
	}
}

// child is a Command that runs a child function, with standard output and error
// of the test.
func child(name string, args ...string) *Command {
	return &Command{
		Path:  "/proc/self/exe",
		Args:  append([]string{childName, name}, args...),
		Env:   []string{fast, "PATH=/usr/bin:/bin:/usr/sbin:/sbin"},
		Files: []*os.File{nil, os.Stdout, os.Stderr},
	}
}

// output runs c with a pipe as standard output and returns what it wrote.
func output(t *testing.T, c *Command, b *core.Birth) (string, *os.ProcessState) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c.Files[1] = w
	process, err := Start(c, b)
	w.Close()
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Error(err)
	}
	state, err := process.Wait()
	if err != nil {
		t.Fatalf("Wait: %v", err)
	}
	return string(out), state
}

// state is what a child sees of itself.
type state struct {
	Args, Env    []string
	Dir          string
	Pid, Parent  int
	Session      int
	Group        int
	Foreground   int // of the controlling terminal, 0 without one
	Status       map[string]string
	Limits       map[string]string
	Cgroup       string
	Namespaces   map[string]string
	UID, GID     int
	UIDMap       string
	Setgroups    string
	Capabilities string
}

func printState([]string) {
	s := state{Args: os.Args, Env: os.Environ(), UID: os.Geteuid(), GID: os.Getegid()}
	s.Dir, _ = syscall.Getwd()
	s.Pid, s.Parent = os.Getpid(), os.Getppid()
	s.Session, _ = unix.Getsid(0)
	s.Group = unix.Getpgrp()
	if tty, err := os.Open("/dev/tty"); err == nil {
		s.Foreground, _ = unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
		tty.Close()
	}
	s.Status = table("/proc/self/status")
	s.Cgroup = text0("/proc/self/cgroup")
	s.UIDMap = strings.Join(strings.Fields(text0("/proc/self/uid_map")), " ")
	s.Setgroups = strings.TrimSpace(text0("/proc/self/setgroups"))
	s.Limits = map[string]string{}
	for name, number := range resourceNumbers {
		var l unix.Rlimit
		unix.Getrlimit(number, &l)
		s.Limits[resources[name]] = limitText(l.Cur) + " " + limitText(l.Max)
	}
	s.Namespaces = map[string]string{}
	for _, kind := range []string{"user", "mnt", "pid", "ipc", "net"} {
		s.Namespaces[kind], _ = os.Readlink("/proc/self/ns/" + kind)
	}
	if err := json.NewEncoder(os.Stdout).Encode(s); err != nil {
		panic(err)
	}
}

func text0(path string) string {
	b, _ := os.ReadFile(path)
	return string(b)
}

func table(path string) map[string]string { return fields(text0(path)) }

func fields(lines string) map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(lines) {
		name, value, _ := strings.Cut(line, ":")
		m[name] = strings.TrimSpace(value)
	}
	return m
}

// observe runs the state child as c says and returns what it saw.
func observe(t *testing.T, c *Command, b *core.Birth) state {
	t.Helper()
	if c.Env == nil {
		c.Env = []string{fast}
	}
	c.Path, c.Args = "/proc/self/exe", append([]string{childName, "state"}, c.Args...)
	for len(c.Files) < 3 {
		c.Files = append(c.Files, nil)
	}
	if c.Files[2] == nil {
		c.Files[2] = os.Stderr
	}
	out, process := output(t, c, b)
	if !process.Success() {
		t.Fatalf("the child: %v", process)
	}
	var s state
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	return s
}

// tries are what a child can be told to try; each argument is NAME:PATH.
var tries = map[string]func(path string) error{
	"read":  func(path string) error { _, err := os.ReadFile(path); return err },
	"list":  func(path string) error { _, err := os.ReadDir(path); return err },
	"write": func(path string) error { return os.WriteFile(path, []byte("x"), 0o600) },
	"mkdir": func(path string) error { return unix.Mkdir(path, 0o700) },
	"empty": func(path string) error {
		entries, err := os.ReadDir(path)
		if len(entries) > 0 {
			return fmt.Errorf("%d entries", len(entries))
		}
		return err
	},
	"exec": func(path string) error {
		_, err := Start(&Command{Path: path, Args: []string{path}}, nil)
		return err
	},
	"umount": func(path string) error { return unix.Unmount(path, unix.MNT_DETACH) },
	// As root of a user namespace of one's own.
	"umount-as-root": func(path string) error {
		const script = `mount -t tmpfs none /tmp && umount /tmp && { umount "$0" 2>&- && echo gone || echo there; }`
		out, err := exec.Command("unshare", "--map-root-user", "--mount", "sh", "-c", script, path).Output()
		if string(out) == "there\n" {
			return unix.EINVAL
		}
		return err
	},
}

// tryAll prints a line for each argument: the argument, and "ok" or the errno.
func tryAll(args []string) {
	for _, a := range args {
		name, path, _ := strings.Cut(a, ":")
		err := tries[name](path)
		result := "ok"
		if errno, ok := errnoOf(err); ok {
			result = unix.ErrnoName(errno)
		} else if err != nil {
			result = err.Error()
		}
		fmt.Println(a, result)
	}
}

// try runs the try child and returns the result of each attempt, in order.
func try(t *testing.T, b *core.Birth, attempts ...string) []string {
	t.Helper()
	c := child("try", attempts...)
	out, process := output(t, c, b)
	if !process.Success() {
		t.Fatalf("the child: %v", process)
	}
	var results []string
	for line := range strings.Lines(out) {
		results = append(results, strings.TrimSpace(line[strings.LastIndex(line, " "):]))
	}
	if len(results) != len(attempts) {
		t.Fatalf("%d results of %d attempts: %q", len(results), len(attempts), out)
	}
	return results
}

// expectTries runs attempts under b and compares: alternately an attempt and
// its result.
func expectTries(t *testing.T, b *core.Birth, attemptsAndResults ...string) {
	t.Helper()
	var attempts, want []string
	for pair := range slices.Chunk(attemptsAndResults, 2) {
		attempts, want = append(attempts, pair[0]), append(want, pair[1])
	}
	for i, got := range try(t, b, attempts...) {
		if got != want[i] {
			t.Errorf("%s: %s, want %s", attempts[i], got, want[i])
		}
	}
}

func errnoOf(err error) (errno syscall.Errno, ok bool) {
	for ; err != nil; err = unwrap(err) {
		if errno, ok = err.(syscall.Errno); ok {
			return errno, true
		}
	}
	return 0, false
}

func unwrap(err error) error {
	if u, ok := err.(interface{ Unwrap() error }); ok {
		return u.Unwrap()
	}
	return nil
}

// scratch is a temporary directory that is free of symbolic links and that every
// user may enter.
func scratch(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "birth")
	if err == nil {
		err = os.Chmod(dir, 0o777)
	}
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// asUser runs a child function as an unprivileged user, started by os/exec, and
// returns what it printed.
func asUser(t *testing.T, name string, args ...string) string {
	t.Helper()
	c := child(name, args...)
	cmd := exec.Command(c.Path)
	cmd.Args, cmd.Env, cmd.Stderr, cmd.Dir = c.Args, c.Env, os.Stderr, "/"
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s as user %d: %v", name, nobody, err)
	}
	return string(out)
}

// hide starts a try child in which a directory and a file are hidden.
func hide(args []string) {
	b := &core.Birth{}
	mountsOf(b, core.Mount{Kind: core.MountEmpty, Target: args[0]}, core.Mount{Kind: core.MountEmpty, Target: args[1]})
	c := child("try", "read:secrets/key", "list:secrets", "read:secret", "umount:secrets", "umount-as-root:secrets")
	c.Dir = filepath.Dir(args[0])
	process, err := Start(c, b)
	must(err)
	_, err = process.Wait()
	must(err)
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
}
