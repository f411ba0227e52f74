//go:build linux && (amd64 || arm64)

package birth

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestCommand(t *testing.T) {
	dir := scratch(t)
	c := &Command{Args: []string{"one", "", "three and\nmore"}, Env: []string{fast, "A=1", "B=", "C=x=y"}, Dir: dir}
	s := observe(t, c, nil)
	if want := []string{childName, "state", "one", "", "three and\nmore"}; !slices.Equal(s.Args, want) {
		t.Errorf("arguments %q, want %q", s.Args, want)
	}
	if !slices.Equal(s.Env, c.Env) {
		t.Errorf("environment %q, want %q", s.Env, c.Env)
	}
	if s.Dir != dir {
		t.Errorf("directory %q, want %q", s.Dir, dir)
	}
	if s.Parent != os.Getpid() {
		t.Errorf("parent %d, want %d", s.Parent, os.Getpid())
	}
}

func TestNilEnvironmentIsEmpty(t *testing.T) {
	t.Setenv("BIRTH_SECRET", "x")
	c := &Command{Path: "/usr/bin/env", Args: []string{"env"}, Files: []*os.File{nil, nil, os.Stderr}}
	if out, _ := output(t, c, nil); out != "" {
		t.Errorf("environment %q", out)
	}
}

func TestRelativePathIsRelativeToDirectory(t *testing.T) {
	dir := scratch(t)
	if err := os.WriteFile(dir+"/script", []byte("#!/bin/sh\nexit 7\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	process, err := Start(&Command{Path: "./script", Args: []string{"script"}, Dir: dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if state, err := process.Wait(); err != nil || state.ExitCode() != 7 {
		t.Errorf("%v, %v", state, err)
	}
}

func TestExitStatus(t *testing.T) {
	for _, code := range []int{0, 1, 127, 255} {
		process, err := Start(child("exit", []string{0: "0", 1: "1", 127: "127", 255: "255"}[code]), nil)
		if err != nil {
			t.Fatal(err)
		}
		if state, err := process.Wait(); err != nil || state.ExitCode() != code {
			t.Errorf("exit %d: %v, %v", code, state, err)
		}
	}
}

func TestSignalledProcess(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	process, err := Start(&Command{Path: "/bin/cat", Args: []string{"cat"}, Files: []*os.File{r, os.Stdout, os.Stderr}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	state, err := process.Wait()
	if err != nil || state.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("%v, %v", state, err)
	}
	if err := process.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("a signal after Wait: %v", err)
	}
}

// TestSignalsAsOsExec compares the mask and the dispositions of a command with
// those that os/exec leaves, with one signal ignored and one caught.
func TestSignalsAsOsExec(t *testing.T) {
	signal.Ignore(syscall.SIGUSR1)
	defer signal.Reset(syscall.SIGUSR1)
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGUSR2)
	defer signal.Stop(caught)

	lines := func(status string) (found []string) {
		for line := range strings.Lines(status) {
			if strings.HasPrefix(line, "Sig") && !strings.HasPrefix(line, "SigQ") {
				found = append(found, line)
			}
		}
		return found
	}
	cmd := exec.Command("/bin/cat", "/proc/self/status")
	theirs, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	ours, _ := output(t, &Command{Path: "/bin/cat", Args: cmd.Args, Files: []*os.File{nil, nil, os.Stderr}}, nil)
	if got, want := lines(ours), lines(string(theirs)); !slices.Equal(got, want) || len(want) != 4 {
		t.Errorf("signals %q, os/exec leaves %q", got, want)
	}
	// The caller of the test may ignore more.
	_, ignored, _ := strings.Cut(ours, "SigIgn:\t")
	ignored, _, _ = strings.Cut(ignored, "\n")
	if set, err := strconv.ParseUint(ignored, 16, 64); err != nil || set>>(syscall.SIGUSR1-1)&1 == 0 {
		t.Errorf("SIGUSR1 is not ignored in %s", ours)
	}
}

func TestErrorUnwraps(t *testing.T) {
	_, err := Start(&Command{Path: "/nonexistent", Args: []string{"x"}}, nil)
	if !errors.Is(err, fs.ErrNotExist) || !errors.Is(err, syscall.ENOENT) {
		t.Errorf("%v is not ENOENT", err)
	}
	var e *Error
	if !errors.As(err, &e) || e.Step != StepExec || e.Path != "/nonexistent" {
		t.Errorf("%#v", err)
	}
	if want := `exec: execve "/nonexistent": no such file or directory`; err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
}

// TestProgramStartsAgain starts one program several times: results of a run
// must not reach into the next.
func TestProgramStartsAgain(t *testing.T) {
	p, err := Compile(&Command{Path: "/bin/true", Args: []string{"true"}, Files: []*os.File{os.Stdout, os.Stdin}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		process, err := p.Start()
		if err != nil {
			t.Fatal(err)
		}
		if state, err := process.Wait(); err != nil || !state.Success() {
			t.Errorf("%v, %v", state, err)
		}
	}
}
