package landlock

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	llsys "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
)

// The tests that need the kernel start this test binary again. The new process
// applies a birth to itself, as a host's child does, and then executes a command:
// the operations of ops_linux_test.go, or any other.
const (
	stageVariable = "PINFOLD_TEST_STAGE"
	stageBirth    = "birth"
	stageOps      = "ops"
	birthVariable = "PINFOLD_TEST_BIRTH"
)

func TestMain(m *testing.M) {
	// Programs built with the race detector wait a second before they exit.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	switch os.Getenv(stageVariable) {
	case stageBirth:
		fmt.Fprintln(os.Stderr, "birth:", applyAndExec())
		os.Exit(125)
	case stageOps:
		os.Exit(runOps())
	case stageObserve:
		os.Exit(printObservation())
	}
	os.Exit(m.Run())
}

// birthData is what crosses to the child. Descriptors of rulesets are 3 and up.
type birthData struct {
	Rulesets  int
	Mount     bool
	Mounts    []core.Mount
	EmptyFile string
	Limits    []core.ResourceLimit
	Drop      uint64
	NNP       bool
	Filters   []core.SeccompFilter
	Argv, Env []string
}

// A command is what to launch under a plan. A nil plan confines nothing.
type command struct {
	plan  *core.Plan
	argv  []string
	env   []string
	dir   string
	stdin []byte
	uid   uint32
	// ambient are capabilities that the command is to have if uid is not 0.
	ambient []uintptr
}

// result is how a command ended.
type result struct {
	stdout, stderr string
	status         int
}

func launch(t *testing.T, c command) result {
	t.Helper()
	data := birthData{Argv: c.argv, Env: c.env}
	cmd := exec.Command("/proc/self/exe")
	if c.plan != nil {
		b := &c.plan.Birth
		data.Rulesets, data.Limits, data.NNP, data.Filters = len(b.Landlock), b.Limits, b.NoNewPrivileges, b.Seccomp
		data.Drop = b.DropCapabilities
		data.Mount, data.Mounts = b.Namespaces&core.NamespaceMount != 0, b.Mounts
		data.EmptyFile = filepath.Join(t.TempDir(), "empty")
		if err := os.WriteFile(data.EmptyFile, nil, 0); err != nil {
			t.Fatal(err)
		}
		for _, l := range b.Landlock {
			if l.Flags != 0 {
				t.Fatalf("restrict flags %#x", l.Flags)
			}
			cmd.ExtraFiles = append(cmd.ExtraFiles, l.File)
		}
	}
	text, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	cmd.Env = append(os.Environ(), stageVariable+"="+stageBirth, birthVariable+"="+string(text))
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.dir, bytes.NewReader(c.stdin), &stdout, &stderr
	if c.uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: c.uid, Gid: c.uid}, AmbientCaps: c.ambient}
	}
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

func applyAndExec() error {
	runtime.LockOSThread()
	var data birthData
	if err := json.Unmarshal([]byte(os.Getenv(birthVariable)), &data); err != nil {
		return err
	}
	if data.Mount {
		if err := applyMounts(data); err != nil {
			return err
		}
	}
	for _, l := range data.Limits {
		kernel := map[core.Resource]int{
			core.ResourceCore: unix.RLIMIT_CORE, core.ResourceFileSize: unix.RLIMIT_FSIZE, core.ResourceOpenFiles: unix.RLIMIT_NOFILE,
		}
		if err := unix.Setrlimit(kernel[l.Resource], &unix.Rlimit{Cur: l.Soft, Max: l.Hard}); err != nil {
			return fmt.Errorf("setrlimit: %w", err)
		}
	}
	if err := dropCapabilities(data.Drop); err != nil {
		return err
	}
	if data.NNP {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("no_new_privs: %w", err)
		}
	}
	for i := range data.Rulesets {
		if err := llsys.LandlockRestrictSelf(3+i, 0); err != nil {
			return fmt.Errorf("landlock_restrict_self: %w", err)
		}
		unix.Close(3 + i)
	}
	env := data.Env
	if env == nil {
		env = os.Environ()
	}
	path := data.Argv[0]
	// The path is looked up and everything allocated before the filters come.
	for _, f := range data.Filters {
		prog := unix.SockFprog{Len: uint16(len(f.Program)), Filter: (*unix.SockFilter)(unsafe.Pointer(&f.Program[0]))}
		_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
		if errno != 0 {
			return fmt.Errorf("seccomp: %w", errno)
		}
	}
	return fmt.Errorf("exec %s: %w", path, syscall.Exec(path, data.Argv, env))
}

func applyMounts(data birthData) error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("unshare: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private /: %w", err)
	}
	for _, m := range data.Mounts {
		if err := applyMount(m, data.EmptyFile); err != nil {
			return fmt.Errorf("%s: %w", mountText(m), err)
		}
	}
	return nil
}

func applyMount(m core.Mount, emptyFile string) error {
	source := m.Source
	if m.Kind == core.MountEmpty {
		info, err := os.Lstat(m.Target)
		if err != nil {
			return err
		}
		if info.IsDir() {
			return unix.Mount("tmpfs", m.Target, "tmpfs", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, "mode=000")
		}
		source = emptyFile
	}
	if err := unix.Mount(source, m.Target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return err
	}
	if !m.ReadOnly {
		return nil
	}
	return unix.MountSetattr(unix.AT_FDCWD, m.Target, unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

// doOps runs operations in a child under a plan, and returns what became of each:
// "ok", or the errno's name.
func doOps(t *testing.T, plan *core.Plan, ops [][]string) []string {
	t.Helper()
	return doOpsAs(t, plan, 0, testBinary(t), ops)
}

// doOpsAs is doOps as another user, who runs another copy of the test binary.
func doOpsAs(t *testing.T, plan *core.Plan, uid uint32, binary string, ops [][]string) []string {
	t.Helper()
	in, err := json.Marshal(ops)
	if err != nil {
		t.Fatal(err)
	}
	r := launch(t, command{plan: plan, argv: []string{binary}, stdin: in, uid: uid,
		env: append(os.Environ(), stageVariable+"="+stageOps)})
	var out []string
	if err := json.Unmarshal([]byte(r.stdout), &out); err != nil {
		t.Fatalf("operations: status %d, %v\nstdout: %s\nstderr: %s", r.status, err, r.stdout, r.stderr)
	}
	if len(out) != len(ops) {
		t.Fatalf("%d results of %d operations", len(out), len(ops))
	}
	return out
}

// testBinary is the path of this program, which policies of tests have to grant.
func testBinary(t *testing.T) string {
	t.Helper()
	p, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// simulated returns a confiner that takes this machine for one with an older
// Landlock. The kernel holds the smaller plan as an older kernel would, but for
// what it changed in rights that both have.
func simulated(t *testing.T, version int) *Confiner {
	t.Helper()
	m, err := observeMachine()
	if err != nil {
		t.Fatal(err)
	}
	if m.kernelABI < version {
		t.Skipf("needs Landlock ABI %d: %s", version, m.observedLandlock())
	}
	m.kernelABI = version
	if version == 0 {
		m.landlock = landlockNotBuilt
	}
	return confinerOn(m)
}

// confinerOn returns a confiner that takes m for its machine.
func confinerOn(m *machine) *Confiner {
	c := New()
	c.known = m
	return c
}

// unprivileged returns m as a user without capabilities sees it.
func unprivileged(m machine) *machine {
	m.mounter, m.capabilities = false, 0
	return &m
}

func mustPlan(t *testing.T, c *Confiner, p core.Policy, constraints ...core.Constraint) *core.Plan {
	t.Helper()
	plan, err := c.Plan(t.Context(), &core.PlanRequest{Session: core.NewSessionID(), Policy: p, Constraints: constraints})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { plan.Close() })
	return plan
}

// needLandlock skips where the kernel cannot hold what a test is about.
func needLandlock(t *testing.T, version int) {
	t.Helper()
	m, err := observeMachine()
	if err != nil {
		t.Fatal(err)
	}
	if m.abi() < version || m.filter != nil {
		t.Skipf("needs Landlock ABI %d and seccomp filters: %s", version, m.observedLandlock())
	}
}

// workspacePolicy is the preset workspace-write, with the test binary granted.
func workspacePolicy(t *testing.T, workspace string) core.Policy {
	p := core.WorkspaceWrite(workspace)
	p.Filesystem.Rules = dropHome(p.Filesystem.Rules)
	p.Filesystem.Rules = append(p.Filesystem.Rules, core.PathRule{Path: testBinary(t), Access: core.Read | core.Execute, Origin: "test"})
	return p
}

// dropHome leaves out the rules that a host would settle.
func dropHome(rules []core.PathRule) []core.PathRule {
	var kept []core.PathRule
	for _, r := range rules {
		if !strings.HasPrefix(r.Path, "~") {
			kept = append(kept, r)
		}
	}
	return kept
}
