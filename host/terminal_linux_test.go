package host

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
)

// A screen is what commands have written on a terminal.
type screen struct {
	file  *os.File
	mu    sync.Mutex
	text  bytes.Buffer
	ended chan struct{}
	err   error
}

func watch(t *testing.T, file *os.File) *screen {
	s := &screen{file: file, ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		buf := make([]byte, 4096)
		for {
			n, err := file.Read(buf)
			s.mu.Lock()
			s.text.Write(buf[:n])
			s.mu.Unlock()
			if err != nil {
				s.err = err
				return
			}
		}
	}()
	t.Cleanup(func() {
		file.Close()
		<-s.ended
	})
	return s
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func (s *screen) awaits(t *testing.T, text string) {
	t.Helper()
	eventually(t, "the terminal shows "+text, func() bool { return strings.Contains(s.String(), text) })
}

func (s *screen) types(t *testing.T, text string) {
	t.Helper()
	if _, err := s.file.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func TestTerminal(t *testing.T) {
	s := open(t, sharedFor(t), core.WorkspaceWrite(t.TempDir()))
	cmd := s.Command("sh", "-c", `tty && stty size && trap 'stty size; exit 7' WINCH && echo ready && while :; do sleep 0.01; done`)
	file, err := cmd.StartTerminal(WindowSize{Rows: 33, Columns: 77})
	if err != nil {
		t.Fatal(err)
	}
	screen := watch(t, file)
	screen.awaits(t, "ready")
	if text := screen.String(); !strings.Contains(text, "/dev/pts/") || !strings.Contains(text, "33 77") {
		t.Errorf("the terminal shows %q", text)
	}
	if err := ResizeTerminal(file, WindowSize{Rows: 12, Columns: 34}); err != nil {
		t.Fatal(err)
	}
	screen.awaits(t, "12 34")
	cmd.Wait() // an exit status other than 0
	if code := cmd.ProcessState.ExitCode(); code != 7 {
		t.Errorf("exit code %d", code)
	}
	<-screen.ended
	if !errors.Is(screen.err, unix.EIO) {
		t.Errorf("reading ended with %v", screen.err)
	}
}

func TestJobControl(t *testing.T) {
	s := open(t, sharedFor(t), core.WorkspaceWrite(t.TempDir()))
	cmd := s.Command("bash", "--norc", "--noprofile", "-i")
	cmd.Env = []string{`PS1=<\#>`, "HISTFILE="}
	file, err := cmd.StartTerminal(WindowSize{Rows: 24, Columns: 80})
	if err != nil {
		t.Fatal(err)
	}
	screen := watch(t, file)
	screen.awaits(t, "<1>")
	// A program is started, stopped, continued and interrupted.
	screen.types(t, "sed -u s/^/got:/\n")
	screen.types(t, "first\n")
	screen.awaits(t, "got:first")
	screen.types(t, "\x1a")
	screen.awaits(t, "Stopped")
	screen.awaits(t, "<2>")
	screen.types(t, "fg\n")
	screen.types(t, "second\n")
	screen.awaits(t, "got:second")
	screen.types(t, "\x03")
	screen.awaits(t, "<3>")
	screen.types(t, "echo status $?\n")
	screen.awaits(t, "status 130")
	screen.awaits(t, "<4>")
	screen.types(t, "exit 3\n")
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 3 {
		t.Errorf("exit code %d", code)
	}
	for _, complaint := range []string{"job control", "can't", "ioctl"} {
		if strings.Contains(screen.String(), complaint) {
			t.Errorf("the shell complains:\n%s", screen)
		}
	}
}

func TestClosingATerminalEndsReading(t *testing.T) {
	s := open(t, sharedFor(t), core.WorkspaceWrite(t.TempDir()))
	cmd := s.Command("sh", "-c", "echo started; sleep 1000")
	file, err := cmd.StartTerminal(WindowSize{Rows: 24, Columns: 80})
	if err != nil {
		t.Fatal(err)
	}
	screen := watch(t, file)
	screen.awaits(t, "started")
	file.Close()
	<-screen.ended
	if !errors.Is(screen.err, os.ErrClosed) {
		t.Errorf("reading ended with %v", screen.err)
	}
	if cmd.Wait(); cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGHUP {
		t.Errorf("the command ended with %v", cmd.ProcessState)
	}
}

func TestTerminalInputIsNotForged(t *testing.T) {
	for preset, want := range map[string]string{"unrestricted": "ok", "workspace-write": "denied"} {
		p, err := core.Preset(preset, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		s := open(t, sharedFor(t), forAgents(p))
		results := new(bytes.Buffer)
		cmd := s.Command(self(), "as-agent-on-terminal")
		cmd.Stderr = results
		file, err := cmd.StartTerminal(WindowSize{Rows: 24, Columns: 80})
		if err != nil {
			t.Fatal(err)
		}
		screen := watch(t, file)
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		<-screen.ended
		if got := results.String(); got != want {
			t.Errorf("%s: forging input: %s, want %s", preset, got, want)
		}
	}
}

func init() {
	roles["as-agent-on-terminal"] = func([]string) { os.Stderr.WriteString(outcome(tricks["TIOCSTI"](nil))) }
}
