package host

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
)

// fugitives are shell commands that leave processes behind which do what they can
// to stay. Each says "away" when they run.
var fugitives = map[string]string{
	"own session":     `setsid sleep 1000 >/dev/null 2>&1 & sleep 0; echo away`,
	"double fork":     `( ( setsid sleep 1000 & ) & ) >/dev/null 2>&1; echo away`,
	"hopper":          `hop() { (hop) & }; (hop >/dev/null 2>&1 &) ; echo away`,
	"ignored signals": `(trap "" HUP INT QUIT TERM USR1 USR2; while :; do sleep 1; done) >/dev/null 2>&1 & echo away`,
	"stopped":         `(kill -STOP $(exec sh -c 'echo $PPID'); sleep 1000) >/dev/null 2>&1 & echo away`,
	"no terminal":     `nohup sleep 1000 >/dev/null 2>&1 & echo away`,
	"bomb":            `bomb() { i=0; while [ $i -lt 60 ]; do sleep 1000 & i=$((i+1)); done; wait; }; bomb >/dev/null 2>&1 & echo away`,
}

func TestNothingOutlivesItsSession(t *testing.T) {
	h := sharedFor(t)
	for _, preset := range []string{"unrestricted", "workspace-write"} {
		for name, script := range fugitives {
			t.Run(preset+"/"+name, func(t *testing.T) {
				p, err := core.Preset(preset, t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				s := open(t, h, p)
				output, err := s.Command("bash", "-c", script).Output()
				if err != nil || string(output) != "away\n" {
					t.Fatalf("%q, %v", output, err)
				}
				// The control: they do outlive the command.
				eventually(t, "somebody is left", func() bool { return len(processes(t, s)) > 0 })
				report, err := s.Close(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				if report.Left.Outcome != core.ProvedEmpty || report.Left.Killed == 0 || len(report.Left.Processes) == 0 {
					t.Errorf("the report says of those left: %+v", report.Left)
				}
				for _, p := range report.Left.Processes {
					if alive(p.PID) && sessionOf(p.PID, s) {
						t.Errorf("%+v is alive", p)
					}
				}
			})
		}
	}
}

func processes(t *testing.T, s *Session) []core.Process {
	t.Helper()
	list, err := s.Processes(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func commandOf(pid int) string {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
	return strings.TrimSpace(string(text))
}

// sessionOf reports whether a process is in the session's cgroup.
func sessionOf(pid int, s *Session) bool {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	return strings.Contains(string(text), s.ID().String())
}

func TestKillLeavesTheSessionOpen(t *testing.T) {
	s := open(t, sharedFor(t), core.WorkspaceWrite(t.TempDir()))
	for range 3 {
		cmd := s.Command("sleep", "1000")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		report, err := s.Kill(context.Background())
		if err != nil || report.Outcome != core.ProvedEmpty || report.Killed != 1 {
			t.Fatalf("%+v, %v", report, err)
		}
		cmd.Wait()
		if sig := cmd.ProcessState.Sys().(syscall.WaitStatus).Signal(); sig != syscall.SIGKILL {
			t.Fatalf("the command ended with %v", cmd.ProcessState)
		}
	}
	if output, err := s.Command("echo", "here").Output(); string(output) != "here\n" {
		t.Errorf("%q, %v", output, err)
	}
}

func TestSessionsDoNotAffectEachOther(t *testing.T) {
	h := sharedFor(t)
	one, two := open(t, h, core.WorkspaceWrite(t.TempDir())), open(t, h, core.WorkspaceWrite(t.TempDir()))
	first, second := one.Command("sleep", "1000"), two.Command("cat")
	input, err := second.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var output strings.Builder
	second.Stdout = &output
	for _, cmd := range []*Cmd{first, second} {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
	if list := processes(t, one); len(list) != 1 || list[0].PID != first.Process.Pid {
		t.Errorf("the first session has %+v", list)
	}
	if _, err := one.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := first.Wait(); err == nil {
		t.Error("the first session's command lived on")
	}
	if _, err := input.Write([]byte("alive")); err != nil {
		t.Fatal(err)
	}
	input.Close()
	if err := second.Wait(); err != nil || output.String() != "alive" {
		t.Errorf("the second session's command: %q, %v", &output, err)
	}
}

// A process that may write below the cgroup filesystem can leave. The report of an
// unrestricted session says so, and that of a confined one that it cannot.
func TestLeavingTheSession(t *testing.T) {
	h := sharedFor(t)
	for _, preset := range []string{"unrestricted", "workspace-write"} {
		p, err := core.Preset(preset, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		s := open(t, h, p)
		group := ownCgroup(t)
		cmd := s.Command("sh", "-c", "echo $$ > "+filepath.Join(group, "cgroup.procs")+" && echo out; exec sleep 1000")
		output, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if preset == "unrestricted" {
			output.Read(make([]byte, 8))
			if len(processes(t, s)) != 0 {
				t.Log("here no process can leave")
			}
		} else {
			eventually(t, "it sleeps", func() bool { return commandOf(cmd.Process.Pid) == "sleep" })
			if len(processes(t, s)) != 1 {
				t.Error("a confined process has left")
			}
		}
		want := map[string]core.Level{"unrestricted": core.Partial, "workspace-write": core.Enforced}[preset]
		if f := s.Enforcement().Dimension(core.Cleanup); f.Level != want {
			t.Errorf("%s: the report says %s", preset, describeFinding(*f))
		}
		cmd.Process.Kill()
		cmd.Wait()
	}
}

// ownCgroup returns the directory of this process's cgroup.
func ownCgroup(t *testing.T) string {
	t.Helper()
	for line := range strings.Lines(readFile(t, "/proc/self/cgroup")) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			for _, mount := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
				var st unix.Statfs_t
				if unix.Statfs(mount, &st) == nil && st.Type == unix.CGROUP2_SUPER_MAGIC {
					return filepath.Join(mount, path)
				}
			}
		}
	}
	t.Skip("there is no cgroup v2 here")
	return ""
}
