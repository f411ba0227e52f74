package seccomp

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
)

// A filter can't be taken off again, so whatever is to happen under one happens
// in a child: this test binary executed again, with a job in its environment.

const jobVariable = "PINFOLD_SECCOMP_TEST_JOB"

// A job is what a child does: install the filter, unless it is the control,
// then run the task and write its results.
type job struct {
	Task    string
	Args    []string
	Control bool
	Options Options
}

// results are errno names, or "ok", by the name of what was tried.
type results map[string]string

// tasks are what children can do, filled in by the test files.
var tasks = map[string]func(args []string) results{}

func init() {
	// A test that filters a single thread must not get the main one: it would
	// stay filtered, and it is the one that new threads are cloned from.
	runtime.LockOSThread()
}

func TestMain(m *testing.M) {
	if text := os.Getenv(jobVariable); text != "" {
		if err := runJob(text); err != nil {
			fmt.Fprintln(os.Stderr, "child:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func runJob(text string) error {
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return err
	}
	if err := os.Unsetenv(jobVariable); err != nil {
		return err
	}
	if !j.Control {
		if err := install(j.Options, unix.SECCOMP_FILTER_FLAG_TSYNC); err != nil {
			return err
		}
	}
	return json.NewEncoder(os.Stdout).Encode(tasks[j.Task](j.Args))
}

// install puts the filter on the calling thread, or with
// SECCOMP_FILTER_FLAG_TSYNC on all of the process.
func install(o Options, flags uintptr) error {
	f, err := Compile(o)
	if err != nil {
		return err
	}
	return installProgram(sockProgram(f), flags)
}

func sockProgram(f core.SeccompFilter) *unix.SockFprog {
	filter := make([]unix.SockFilter, len(f.Program))
	for i, in := range f.Program {
		filter[i] = unix.SockFilter{Code: in.Code, Jt: in.JT, Jf: in.JF, K: in.K}
	}
	return &unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
}

func installProgram(prog *unix.SockFprog, flags uintptr) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(prog)))
	if errno != 0 {
		return fmt.Errorf("installing the filter: %w", errno)
	}
	if thread != 0 {
		return fmt.Errorf("installing the filter: thread %d did not follow", thread)
	}
	return nil
}

// inChild runs a job in a child that has no controlling terminal, and fails the
// test if the child does.
func inChild(t *testing.T, j job, files ...*os.File) results {
	t.Helper()
	text, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	// A program with the race detector sleeps for a second at its end otherwise.
	cmd.Env = append(os.Environ(), jobVariable+"="+string(text), "GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	cmd.ExtraFiles = files
	cmd.Dir = t.TempDir()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("child %+v: %v\n%s", j, err, stderr.String())
	}
	var r results
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("child %+v wrote %q: %v", j, out, err)
	}
	return r
}

// bothWays runs a task without and with the filter.
func bothWays(t *testing.T, o Options, task string, args ...string) (control, confined results) {
	t.Helper()
	requireSeccomp(t)
	control = inChild(t, job{Task: task, Args: args, Control: true})
	confined = inChild(t, job{Task: task, Args: args, Options: o})
	return control, confined
}

func requireSeccomp(t testing.TB) {
	t.Helper()
	if _, ok := machines[Arch(runtime.GOARCH)]; !ok {
		t.Skipf("no system call table for %s", runtime.GOARCH)
	}
	action := uint32(unix.SECCOMP_RET_ERRNO)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	if errno != 0 {
		t.Skipf("the kernel has no seccomp filters: %v", errno)
	}
}

// result names an error by its errno.
func result(err error) string {
	if err == nil {
		return "ok"
	}
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return err.Error()
	}
	if errno == 0 {
		return "ok"
	}
	if name := unix.ErrnoName(errno); name != "" {
		return name
	}
	return errno.Error()
}

// rawCall makes a call by its number in the table.
func rawCall(name string, args ...uintptr) (uintptr, syscall.Errno) {
	var a [6]uintptr
	copy(a[:], args)
	number := machines[Arch(runtime.GOARCH)].number(callsByName[name])
	r, _, errno := syscall.Syscall6(uintptr(number), a[0], a[1], a[2], a[3], a[4], a[5])
	return r, errno
}
