package main

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// console is an interactive shell on a terminal, as a person has one.
type console struct {
	t    *testing.T
	tty  *os.File
	cmd  *exec.Cmd
	mu   sync.Mutex
	seen bytes.Buffer
	at   int // what expect has consumed
	news chan struct{}
}

func newConsole(t *testing.T, p *place) *console {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash to be the shell")
	}
	cmd := exec.Command(bash, "--norc", "--noprofile", "-i")
	cmd.Dir = p.workspace
	cmd.Env = append(p.env, "PS1=$ ", "TERM=dumb", "HISTFILE=", "PF="+binary, "SELF="+self(t))
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		t.Fatal(err)
	}
	c := &console{t: t, tty: tty, cmd: cmd, news: make(chan struct{}, 1)}
	go c.read()
	t.Cleanup(c.end)
	c.expect("$ ")
	c.line("stty -echo")
	c.expect("$ ")
	return c
}

// end ends the shell and what a failed test left in its session.
func (c *console) end() {
	c.cmd.Process.Kill()
	c.tty.Close()
	waitFor(c.t, "the end of the terminal session", func() bool {
		alive := false
		for _, pid := range processesWhere(func(stat []string) bool { return stat[3] == strconv.Itoa(c.cmd.Process.Pid) }) {
			if pid != c.cmd.Process.Pid {
				alive = true
				syscall.Kill(pid, syscall.SIGCONT)
				syscall.Kill(pid, syscall.SIGTERM)
			}
		}
		return !alive
	})
	c.cmd.Wait()
}

func (c *console) read() {
	buffer := make([]byte, 4096)
	for {
		n, err := c.tty.Read(buffer)
		c.mu.Lock()
		c.seen.Write(buffer[:n])
		c.mu.Unlock()
		select {
		case c.news <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// expect waits for text after what was expected before.
func (c *console) expect(text string) {
	c.t.Helper()
	deadline := time.After(watchdog)
	for {
		c.mu.Lock()
		i := strings.Index(c.seen.String()[c.at:], text)
		if i >= 0 {
			c.at += i + len(text)
		}
		c.mu.Unlock()
		if i >= 0 {
			return
		}
		select {
		case <-c.news:
		case <-deadline:
			c.t.Fatalf("waited in vain for %q; the terminal shows:\n%s\n%s", text, c.text(), c.processes())
		}
	}
}

// processes shows the terminal session's processes, for failures.
func (c *console) processes() string {
	var b strings.Builder
	for _, pid := range processesWhere(func(stat []string) bool { return stat[3] == strconv.Itoa(c.cmd.Process.Pid) }) {
		stat, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		b.Write(stat)
	}
	return b.String()
}

func (c *console) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen.String()
}

func (c *console) line(text string) { c.keys(text + "\n") }

func (c *console) keys(keys string) {
	c.t.Helper()
	if _, err := c.tty.WriteString(keys); err != nil {
		c.t.Fatal(err)
	}
}

const (
	ctrlC         = "\x03"
	ctrlD         = "\x04"
	ctrlZ         = "\x1a"
	ctrlBackslash = "\x1c"
)

// loop is a command that says when it runs and when it is continued: this test
// binary, see payload. A shell would not do: it loses a signal now and then.
const loop = `--exec "$SELF" --env PF_PAYLOAD=loop -- "$SELF"`

// runs reports whether a program runs in the foreground of the terminal.
func runs(c *console, program string) bool {
	for _, pid := range processesWhere(func(stat []string) bool {
		return stat[3] == strconv.Itoa(c.cmd.Process.Pid) && stat[2] == stat[5]
	}) {
		if name, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm"); err == nil && strings.TrimSpace(string(name)) == program {
			return true
		}
	}
	return false
}

func TestKeysThatEndACommand(t *testing.T) {
	c := newConsole(t, newPlace(t))
	c.line("$PF run -q " + loop)
	c.expect("ready-42")
	c.keys(ctrlC)
	c.expect("$ ")
	c.line("echo status=$?")
	c.expect("status=130")
	// bash itself ignores SIGQUIT.
	c.line(`ulimit -c 0; $PF run -q -- bash -c 'echo ready-$((40+2)); exec sleep 1000'`)
	c.expect("ready-42")
	waitFor(t, "sleep to run", func() bool { return runs(c, "sleep") })
	c.keys(ctrlBackslash)
	c.expect("$ ")
	c.line("echo status=$?")
	c.expect("status=131")
}

func TestCommandDecidesAboutCtrlC(t *testing.T) {
	c := newConsole(t, newPlace(t))
	c.line(`$PF run -q -- bash -c 'trap "echo caught-$((40+2))" INT; echo ready-$((40+2)); read line; echo got-$line; exit 7'`)
	c.expect("ready-42")
	c.keys(ctrlC)
	c.line("more") // the shell may have been about to read when the signal came
	c.expect("caught-42")
	c.expect("$ ")
	c.line("echo status=$?")
	c.expect("status=7")
}

func TestStopAndForeground(t *testing.T) {
	c := newConsole(t, newPlace(t))
	c.line("$PF run -q " + loop)
	c.expect("ready-42")
	for range 5 {
		c.keys(ctrlZ)
		c.expect("Stopped")
		c.expect("$ ")
		c.line("fg")
		c.expect("continued-42")
	}
	c.keys(ctrlZ)
	c.expect("Stopped")
	c.line("bg")
	c.expect("continued-42")
	c.line("fg")
	waitFor(t, "the job to be in the foreground", func() bool { return runs(c, "pinfold") })
	c.keys(ctrlC)
	c.expect("$ ")
	c.line("echo status=$?")
	c.expect("status=130")
}

// A command that ignores Ctrl-Z goes on in the foreground, and pinfold with it.
func TestCommandDecidesAboutCtrlZ(t *testing.T) {
	c := newConsole(t, newPlace(t))
	c.line(`$PF run -q -- bash -c 'trap "" TSTP; echo ready-$((40+2)); read line; echo got-$line'`)
	c.expect("ready-42")
	c.keys(ctrlZ)
	c.line("more")
	c.expect("got-more")
	c.expect("$ ")
	if strings.Contains(c.text(), "Stopped") {
		t.Errorf("pinfold stopped without its command:\n%s", c.text())
	}
}

func TestBackgroundJobReadsTerminal(t *testing.T) {
	c := newConsole(t, newPlace(t))
	c.line("$PF run -q -- cat &")
	c.line("wait %1; echo waited-$?")
	c.expect("Stopped")
	c.expect("waited-149") // 128 + SIGTTIN
	c.line("fg")
	c.expect("run -q -- cat")
	c.line("typed-$")
	c.expect("typed-$")
	c.keys(ctrlD)
	c.expect("$ ")
	c.line("echo status=$?")
	c.expect("status=0")
}

func TestSignalsToBackgroundJobAlone(t *testing.T) {
	c := newConsole(t, newPlace(t))
	c.line("$PF run -q " + loop + " & pid=$!")
	c.expect("ready-42")
	c.line("kill -TSTP $pid; wait $pid; echo waited-$?")
	c.expect("waited-148") // 128 + SIGTSTP
	c.line("kill -CONT $pid")
	c.expect("continued-42")
	c.line("kill -TERM $pid; wait $pid; echo ended-$?")
	c.expect("ended-143")
}

func TestWindowSize(t *testing.T) {
	c := newConsole(t, newPlace(t))
	c.line("$PF run -q -- stty size")
	c.expect("24 80")
	c.line(`$PF run -q -- bash -c 'trap "stty size; exit" WINCH; mkfifo never; exec 3<>never; echo ready-$((40+2)); while :; do read -t 0.05 -u 3; done'`)
	c.expect("ready-42")
	if err := pty.Setsize(c.tty, &pty.Winsize{Rows: 50, Cols: 132}); err != nil {
		t.Fatal(err)
	}
	c.expect("50 132")
	c.expect("$ ")
}

func nestedShell(t *testing.T) *console {
	c := newConsole(t, newPlace(t))
	c.line("$PF run -q --exec $SELF --env SELF --env PS1='inner> ' -- bash --norc --noprofile -i")
	c.expect("inner> ")
	return c
}

func TestShellInside(t *testing.T) {
	c := nestedShell(t)
	c.line("env PF_PAYLOAD=loop $SELF")
	c.expect("ready-42")
	c.keys(ctrlZ)
	c.expect("Stopped")
	c.line("fg")
	c.expect("continued-42")
	c.keys(ctrlC)
	c.expect("inner> ")
	c.line("exit 5")
	c.expect("$ ")
	c.line("echo status=$?")
	c.expect("status=5")
	for _, complaint := range []string{"cannot set terminal process group", "no job control", "Inappropriate ioctl"} {
		if strings.Contains(c.text(), complaint) {
			t.Errorf("the inner shell complains: %q", complaint)
		}
	}
}

// suspend stops the inner shell; the outer one must get the terminal.
func TestSuspendShellInside(t *testing.T) {
	c := nestedShell(t)
	for range 3 {
		c.line("suspend")
		c.expect("Stopped")
		c.line("echo outer-$((40+2))")
		c.expect("outer-42")
		c.line("fg")
		c.expect("inner> ")
		c.line("echo inner-$((40+2))")
		c.expect("inner-42")
	}
	c.line("exit")
	c.expect("$ ")
}

// A shell that dies leaves the terminal to a process group that is gone.
func TestTerminalComesBack(t *testing.T) {
	c := nestedShell(t)
	c.line("kill -KILL $$")
	c.expect("$ ")
	c.line(`$PF run -q -- bash -c 'read line; echo got-$line'; echo status=$?`)
	c.line("more")
	c.expect("got-more")
	c.expect("status=0")
	// Without a shell in between that would take the terminal back by itself.
	c.line(`bash -c '$PF run -q -- bash --norc -i -c "kill -KILL \$\$"; read line; echo got-$line'`)
	c.line("again")
	c.expect("got-again")
}
