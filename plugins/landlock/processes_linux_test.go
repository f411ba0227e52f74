package landlock

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
)

// bystander is a process outside of every session, with a secret in its
// environment. It waits until the test ends.
func bystander(t *testing.T, binary string, uid uint32) string {
	t.Helper()
	cmd := exec.Command(binary)
	cmd.Env = []string{stageVariable + "=" + stageOps, "SECRET=planted"}
	if uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	}
	stdin, err := cmd.StdinPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		stdin.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	return strconv.Itoa(cmd.Process.Pid)
}

// publicBinary is a copy of the test binary that every user can run.
func publicBinary(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		must(t, os.Chmod(d, 0o755))
	}
	text, err := os.ReadFile(testBinary(t))
	must(t, err)
	path := filepath.Join(dir, "ops")
	must(t, os.WriteFile(path, text, 0o755))
	return path
}

// A processTry is a try against a process outside; capable is what it comes to
// for a confined process that has kept every capability, on kernels that let it.
// Root that lost capabilities is held like anybody, or else as root says.
type processTry struct{ op, free, held, capable, root string }

// TestOtherProcesses tries it as a normal user, and as root if that is who runs
// the tests. To root it makes a difference that capabilities are dropped.
func TestOtherProcesses(t *testing.T) {
	needLandlock(t, firstWith(signalScope).version)
	tries := []processTry{
		{"kill {pid}", "ok", "EPERM", "EPERM", ""},
		{"pidfdkill {pid}", "ok", "EPERM", "EPERM", ""},
		{"killown", "ok", "ok", "ok", ""},
		{"readable /proc/{pid}/environ planted", "ok", "EACCES", "ok", ""},
		{"read /proc/{pid}/maps", "ok", "EACCES", "ok", ""},
		{"read /proc/{pid}/mem", "EIO", "EACCES", "EACCES", ""},
		{"list /proc/{pid}/fd", "ok", "ok", "ok", ""}, // their numbers, and no more
		{"readlink /proc/{pid}/fd/0", "ok", "EACCES", "EACCES", ""},
		{"readnow /proc/{pid}/fd/0", "", "EACCES", "EACCES", ""}, // the pipe is root's, or ours
		{"list /proc/{pid}/root/etc", "ok", "EACCES", "EACCES", ""},
		{"list /proc/{pid}/cwd/", "ok", "EACCES", "EACCES", ""},
		{"read /proc/{pid}/cmdline", "ok", "ok", "ok", ""}, // nothing holds it, as the report says
		{"read /proc/self/environ", "ok", "ok", "ok", ""},
		{"vmread {pid}", "ok", "EPERM", "EPERM", ""},
		{"prlimit {pid}", "ok", "EPERM", "EPERM", ""},
		// The gap of the dimension signals. A process with more capabilities than the
		// caller is not slowed down (cap_safe_nice in security/commoncap.c).
		{"affinity {pid}", "ok", "ok", "ok", "EPERM"},
		{"nice {pid}", "ok", "ok", "ok", "EPERM"},
		{"ptrace {pid}", "ok", "EPERM", "EPERM", ""},
	}
	m, err := observeMachine()
	must(t, err)
	run := func(t *testing.T, uid uint32, m *machine, keep bool) {
		binary := publicBinary(t)
		pid := bystander(t, binary, uid)
		var ops [][]string
		for _, p := range tries {
			ops = append(ops, strings.Fields(strings.ReplaceAll(p.op, "{pid}", pid)))
		}
		policy := workspacePolicy(t, t.TempDir())
		policy.Filesystem.Rules = append(policy.Filesystem.Rules, core.PathRule{Path: binary, Access: core.Read | core.Execute})
		plan := mustPlan(t, confinerOn(m), policy)
		if f := plan.Enforcement.Dimension(core.Tracing); f.Level != core.Enforced {
			t.Errorf("tracing is reported as %v", f.Level)
		}
		if keep {
			plan.Birth.DropCapabilities = 0
		}
		held := doOpsAs(t, plan, uid, binary, ops)
		free := doOpsAs(t, nil, uid, binary, ops)
		for i, p := range tries {
			want := p.held
			switch {
			case keep:
				want = p.capable
			case p.root != "" && uid == 0 && os.Geteuid() == 0:
				want = p.root
			}
			if p.free != "" && free[i] != p.free || held[i] != want {
				t.Errorf("%s: %s unconfined, want %s; %s confined, want %s", p.op, free[i], p.free, held[i], want)
			}
		}
	}
	if os.Geteuid() != 0 {
		run(t, 0, m, false)
		return
	}
	t.Run("user", func(t *testing.T) { run(t, 65534, unprivileged(*m), false) })
	t.Run("root", func(t *testing.T) { run(t, 0, m, false) })
	t.Run("root that keeps its capabilities", func(t *testing.T) {
		if !strings.HasPrefix(m.release, "6.18.") || m.capabilities&(1<<unix.CAP_PERFMON|1<<unix.CAP_SYS_ADMIN) == 0 {
			t.Skip("needs Linux 6.18, which was looked at, and CAP_PERFMON or CAP_SYS_ADMIN")
		}
		run(t, 0, m, true)
	})
}

// TestPrivileges needs root for its control: what only root can do anyway proves
// nothing when it fails.
func TestPrivileges(t *testing.T) {
	needLandlock(t, 2)
	if os.Geteuid() != 0 {
		t.Skip("needs root: an unprivileged process cannot mount even when unconfined")
	}
	const newUser, newNS = "268435456", "131072" // CLONE_NEWUSER, CLONE_NEWNS
	tries := []try{
		{"mknod {ws}/null", "ok", "EACCES"},
		{"mount {ws}/empty", "ok", "EPERM"},
		{"umount {ws}/empty", "ok", "EPERM"},
		{"unshare " + newNS, "ok", "EPERM"},
		{"unshare " + newUser, "", "EPERM"},
		{"iouring", "", "ENOSYS"},
	}
	check(t, tries, func(t *testing.T, ws string) *core.Plan {
		return mustPlan(t, New(), workspacePolicy(t, ws))
	})
}

func TestTerminal(t *testing.T) {
	needLandlock(t, 2)
	master, slave, err := pty.Open()
	must(t, err)
	defer master.Close()
	defer slave.Close()
	ops := [][]string{{"isatty", slave.Name()}, {"tiocsti", slave.Name()}}
	// Without a controlling terminal root alone may type into one.
	free := doOps(t, nil, ops)
	held := doOps(t, mustPlan(t, New(), workspacePolicy(t, t.TempDir())), ops)
	if free[0] != "ok" || held[0] != "ok" {
		t.Errorf("asking a terminal for its settings: %s unconfined, %s confined", free[0], held[0])
	}
	if free[1] != "ok" {
		t.Skipf("typing into the terminal fails unconfined too: %s", free[1])
	}
	if held[1] != "EPERM" {
		t.Errorf("typing into the terminal: %s, want EPERM", held[1])
	}
}

func TestProcessLimits(t *testing.T) {
	needLandlock(t, 0)
	p := workspacePolicy(t, t.TempDir())
	p.Limits = core.LimitsPolicy{OpenFiles: 64, FileSize: 1 << 20, NoCore: true}
	plan := mustPlan(t, New(), p)
	if got := doOps(t, plan, [][]string{{"nofile", "64"}}); got[0] != "ok" {
		t.Error(got[0])
	}
	f := plan.Enforcement.Dimension(core.Limits)
	if f == nil {
		t.Fatal("no finding about the limits")
	}
	m, err := observeMachine()
	must(t, err)
	if m.pipesCore() != (f.Level == core.Partial) {
		t.Errorf("the limits are reported as %v: %s", f.Level, f.Gap)
	}
	if !strings.Contains(plan.Listing, "limit core: 1\n") {
		t.Errorf("the listing has no limit of core dumps:\n%s", plan.Listing)
	}
}

// TestPlanLeavesItself: planning restricts nobody.
func TestPlanLeavesItself(t *testing.T) {
	mustPlan(t, New(), workspacePolicy(t, t.TempDir()))
	status, err := os.ReadFile("/proc/self/status")
	must(t, err)
	for _, want := range []string{"NoNewPrivs:\t0", "Seccomp:\t0"} {
		if !strings.Contains(string(status), want) {
			t.Errorf("after a plan the process has not %q", want)
		}
	}
	if err := unix.Access("/", unix.R_OK); err != nil {
		t.Error(err)
	}
}
