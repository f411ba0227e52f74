package host

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pinfold/pinfold/core"
)

func TestStreams(t *testing.T) {
	s := open(t, sharedFor(t), core.WorkspaceWrite(t.TempDir()))
	t.Run("output", func(t *testing.T) {
		output, err := s.Command("sh", "-c", "echo out; echo err >&2").Output()
		if string(output) != "out\n" || err != nil {
			t.Errorf("%q, %v", output, err)
		}
	})
	t.Run("combined", func(t *testing.T) {
		output, err := s.Command("sh", "-c", "echo out; echo err >&2").CombinedOutput()
		if string(output) != "out\nerr\n" || err != nil {
			t.Errorf("%q, %v", output, err)
		}
	})
	t.Run("input from a reader", func(t *testing.T) {
		cmd := s.Command("cat")
		cmd.Stdin = strings.NewReader("some text")
		output, err := cmd.Output()
		if string(output) != "some text" || err != nil {
			t.Errorf("%q, %v", output, err)
		}
	})
	t.Run("input that is not read", func(t *testing.T) {
		cmd := s.Command("true")
		cmd.Stdin = bytes.NewReader(make([]byte, 1<<20))
		if err := cmd.Run(); err != nil {
			t.Error(err)
		}
	})
	t.Run("pipes", func(t *testing.T) {
		cmd := s.Command("sh", "-c", "cat; echo err >&2")
		stdin, err1 := cmd.StdinPipe()
		stdout, err2 := cmd.StdoutPipe()
		stderr, err3 := cmd.StderrPipe()
		if err := errors.Join(err1, err2, err3, cmd.Start()); err != nil {
			t.Fatal(err)
		}
		io.WriteString(stdin, "through")
		stdin.Close()
		out, _ := io.ReadAll(stdout)
		errors, _ := io.ReadAll(stderr)
		if err := cmd.Wait(); err != nil || string(out) != "through" || string(errors) != "err\n" {
			t.Errorf("%q, %q, %v", out, errors, err)
		}
	})
	t.Run("a file", func(t *testing.T) {
		f, err := os.Create(filepath.Join(t.TempDir(), "out"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		cmd := s.Command("echo", "to a file")
		cmd.Stdout = f
		if err := cmd.Run(); err != nil || readFile(t, f.Name()) != "to a file\n" {
			t.Errorf("%q, %v", readFile(t, f.Name()), err)
		}
	})
	t.Run("nothing set", func(t *testing.T) {
		if err := s.Command("sh", "-c", "cat; echo x; echo x >&2").Run(); err != nil {
			t.Error(err)
		}
	})
	t.Run("set twice", func(t *testing.T) {
		cmd := s.Command("true")
		cmd.Stdout = io.Discard
		if _, err := cmd.Output(); err == nil {
			t.Error("Output with Stdout set")
		}
		if _, err := cmd.StdoutPipe(); err == nil {
			t.Error("StdoutPipe with Stdout set")
		}
	})
}

// A descendant that keeps the output open makes Wait wait, but for WaitDelay.
func TestWaitDelay(t *testing.T) {
	s := open(t, sharedFor(t), core.WorkspaceWrite(t.TempDir()))
	cmd := s.Command("sh", "-c", "sleep 1000 & echo done")
	cmd.WaitDelay = 20 * time.Millisecond
	output, err := cmd.Output()
	if !errors.Is(err, exec.ErrWaitDelay) || string(output) != "done\n" {
		t.Errorf("%q, %v", output, err)
	}
	// The control: without it, Wait ends when the session is killed.
	cmd = s.Command("sh", "-c", "sleep 1000 & echo done")
	stdout := &signalling{written: make(chan struct{})}
	cmd.Stdout = stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-stdout.written
	if _, err := s.Kill(context.Background()); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if stdout.text != "done\n" {
		t.Errorf("%q", stdout.text)
	}
}

// signalling tells when it is first written to.
type signalling struct {
	text    string
	written chan struct{}
}

func (s *signalling) Write(p []byte) (int, error) {
	if s.text == "" {
		defer close(s.written)
	}
	s.text += string(p)
	return len(p), nil
}

func TestEndsOfCommands(t *testing.T) {
	s := open(t, sharedFor(t), core.WorkspaceWrite(t.TempDir()))
	for script, want := range map[string]string{
		"exit 0": "", "exit 1": "exit status 1", "exit 255": "exit status 255", "kill -TERM $$": "signal: terminated", "kill -KILL $$": "signal: killed",
	} {
		err := s.Command("sh", "-c", script).Run()
		var exit *exec.ExitError
		if want == "" && err != nil || want != "" && (!errors.As(err, &exit) || err.Error() != want) {
			t.Errorf("%s: %v, want %q", script, err, want)
		}
	}
	report := mustClose(t, s)
	var codes []int
	for _, c := range report.Commands {
		if !c.Exited || c.Elapsed <= 0 {
			t.Errorf("the report says %+v", c)
		}
		codes = append(codes, c.ExitCode)
	}
	if len(codes) != 5 {
		t.Errorf("the report has %v", codes)
	}
}

func mustClose(t *testing.T, s *Session) *Report {
	t.Helper()
	report, err := s.Close(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestCommandsThatDoNotStart(t *testing.T) {
	ws := t.TempDir()
	s := open(t, sharedFor(t), core.WorkspaceWrite(ws))
	plain := writeFile(t, filepath.Join(ws, "plain"), "text")
	script := writeFile(t, filepath.Join(ws, "script"), "#!/no/such/interpreter\n")
	os.Chmod(script, 0o755)
	outside := filepath.Join(t.TempDir(), "outside")
	writeFile(t, outside, "#!/bin/sh\n")
	os.Chmod(outside, 0o755)
	for name, c := range map[string]struct {
		path string
		is   []error
	}{
		"no such name":        {"no-such-program", []error{exec.ErrNotFound}},
		"no such path":        {"/no/such/program", []error{fs.ErrNotExist}},
		"no such interpreter": {script, []error{fs.ErrNotExist}},
		"not executable":      {plain, []error{fs.ErrPermission}},
		"a directory":         {ws, []error{fs.ErrPermission}},
		"not granted":         {outside, []error{fs.ErrPermission}},
		"an empty name":       {"", []error{exec.ErrNotFound}},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := s.Command(c.path)
			in, err := cmd.StdinPipe() // to be closed by a Start that fails
			if err != nil {
				t.Fatal(err)
			}
			err = cmd.Start()
			var failure *core.Error
			if !errors.As(err, &failure) || failure.Reason != core.ErrLaunchFailed || failure.Stage != core.StageExec {
				t.Fatalf("%v (%+v)", err, failure)
			}
			for _, target := range c.is {
				if !errors.Is(err, target) {
					t.Errorf("%v is not %v", err, target)
				}
			}
			if _, err := in.Write([]byte("x")); !errors.Is(err, fs.ErrClosed) {
				t.Errorf("the pipe is open: %v", err)
			}
			if err := cmd.Wait(); err == nil {
				t.Error("Wait succeeds")
			}
		})
	}
	cmd := s.Command("true")
	cmd.Dir = "no/such/directory"
	if err := cmd.Start(); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "no/such/directory") {
		t.Errorf("a directory that does not exist: %v", err)
	}
	if list := processes(t, s); len(list) != 0 {
		t.Errorf("left: %+v", list)
	}
}

func TestDirectories(t *testing.T) {
	ws := t.TempDir()
	os.MkdirAll(filepath.Join(ws, "a/b"), 0o755)
	s := open(t, sharedFor(t), core.WorkspaceWrite(ws))
	for dir, want := range map[string]string{"": ws, "a": ws + "/a", "a/b/..": ws + "/a", "/usr": "/usr"} {
		cmd := s.Command("sh", "-c", "pwd; pwd -P")
		cmd.Dir = dir
		output, err := cmd.Output()
		if string(output) != want+"\n"+want+"\n" || err != nil {
			t.Errorf("%q: %q, %v", dir, output, err)
		}
	}
}

func TestContextKillsTheCommand(t *testing.T) {
	s := open(t, sharedFor(t), core.WorkspaceWrite(t.TempDir()))
	ctx, cancel := context.WithCancel(context.Background())
	cmd := s.CommandContext(ctx, "sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	cancel()
	err := cmd.Wait()
	var exit *exec.ExitError
	if !errors.Is(err, context.Canceled) || !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("Wait: %v", err)
	}
	if err := s.CommandContext(ctx, "true").Run(); err != context.Canceled {
		t.Errorf("a command after the end of its context: %v", err)
	}
	// A command that ended by itself is not the context's doing.
	ctx, cancel = context.WithCancel(context.Background())
	defer cancel()
	err = s.CommandContext(ctx, "false").Run()
	if !errors.As(err, &exit) || errors.Is(err, context.Canceled) {
		t.Errorf("Wait: %v", err)
	}
}

func TestACommandIsUsedOnce(t *testing.T) {
	s := open(t, sharedFor(t), core.WorkspaceWrite(t.TempDir()))
	cmd := s.Command("true")
	if err := cmd.Wait(); err == nil {
		t.Error("Wait before Start")
	}
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err == nil {
		t.Error("a second Start")
	}
	if err := cmd.Wait(); err == nil {
		t.Error("a second Wait")
	}
}

func TestNewSessionAndProcessGroup(t *testing.T) {
	s := open(t, sharedFor(t), core.WorkspaceWrite(t.TempDir()))
	of := func(change func(*Cmd)) (group, session string) {
		cmd := s.Command("sh", "-c", `set -- $(cat /proc/self/stat); echo $5 $6 $$`)
		change(cmd)
		output, err := cmd.Output()
		fields := strings.Fields(string(output))
		if err != nil || len(fields) != 3 {
			t.Fatalf("%q, %v", output, err)
		}
		for i := range fields[:2] {
			if fields[i] == fields[2] {
				fields[i] = "own"
			}
		}
		return fields[0], fields[1]
	}
	if group, session := of(func(*Cmd) {}); group == "own" || session == "own" {
		t.Error("the default", group, session)
	}
	if group, session := of(func(c *Cmd) { c.ProcessGroup = true }); group != "own" || session == "own" {
		t.Error("with ProcessGroup", group, session)
	}
	if group, session := of(func(c *Cmd) { c.NewSession = true }); group != "own" || session != "own" {
		t.Error("with NewSession", group, session)
	}
}
