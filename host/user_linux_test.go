package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/pinfold/pinfold/core"
)

// What a host application of an ordinary user can do. The tests need root, to
// become that user and to give it a cgroup.

func init() { roles["as-user"] = asUser }

const nobody = 65534

// The findings are what the application finds out.
type findings struct {
	Open         string // the error of Open
	NotPermitted bool
	Tracing      string // its level
	// By preset: the user of a program that is set-uid root, and what came of
	// reading the host's environment.
	SetUID, Environ map[string]string
	// Closing a session that took its own permissions away.
	Close string
	Left  []string
}

func asUser(args []string) {
	u := findings{SetUID: map[string]string{}, Environ: map[string]string{}}
	u.Open, u.NotPermitted = u.lookAround(args[0], args[1])
	json.NewEncoder(os.Stdout).Encode(u)
}

func (u *findings) lookAround(ws, setUID string) (failure string, notPermitted bool) {
	h, err := New(Options{})
	if err != nil {
		return err.Error(), false
	}
	defer h.Close()
	for _, preset := range []string{"unrestricted", "workspace-write"} {
		p, _ := core.Preset(preset, ws)
		p = forAgents(p)
		if p.Filesystem.Confined {
			p.Filesystem.Rules = append(p.Filesystem.Rules, core.PathRule{Path: setUID, Access: core.Read | core.Execute})
		}
		s, err := h.Open(context.Background(), p)
		if err != nil {
			return err.Error(), errors.Is(err, core.ErrNotPermitted)
		}
		id, err := s.Command(setUID, "-u").CombinedOutput()
		u.SetUID[preset] = strings.TrimSpace(fmt.Sprint(string(id), errorText(err)))
		cmd := s.Command("cat", "/proc/"+strconv.Itoa(os.Getpid())+"/environ")
		u.Environ[preset] = errorText(cmd.Run())
		if preset == "workspace-write" {
			u.Tracing = s.Enforcement().Dimension(core.Tracing).Level.String()
			err := s.Command("sh", "-c", `mkdir -p $TMPDIR/a/b && touch $TMPDIR/a/b/c && chmod 0 $TMPDIR/a/b $TMPDIR/a $TMPDIR`).Run()
			u.Close = errorText(err)
		}
		if _, err := s.Close(context.Background()); err != nil {
			u.Close += err.Error()
		}
	}
	u.Left, _ = filepath.Glob(filepath.Join(h.temp, "*-*-*-*-*"))
	return "", false
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// runAsUser starts the application as a user that owns nothing, in a cgroup.
func runAsUser(t *testing.T, cgroup string) findings {
	t.Helper()
	dir, err := os.MkdirTemp(testDir, "u")
	if err != nil {
		t.Fatal(err)
	}
	ws, tmp := filepath.Join(dir, "ws"), filepath.Join(dir, "t")
	for _, d := range []string{dir, ws, tmp} {
		if err := os.Mkdir(d, 0o755); d != dir && err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Chmod(d, 0o755), os.Chown(d, nobody, nobody)); err != nil {
			t.Fatal(err)
		}
	}
	// The test binary lies where only root can go.
	program := copyFile(t, self(), filepath.Join(dir, "application"), 0o755)
	id, err := exec.LookPath("id")
	if err != nil {
		t.Skip(err)
	}
	setUID := copyFile(t, id, filepath.Join(dir, "id"), 0o755|os.ModeSetuid)
	cmd := exec.Command(program, "as-user", ws, setUID)
	cmd.Dir = ws
	cmd.Env = append(os.Environ(), "HOME="+tmp, "TMPDIR="+tmp)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if cgroup != "" {
		f, err := os.Open(cgroup)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(f.Fd())
	}
	output, err := cmd.Output()
	var u findings
	if err == nil {
		err = json.Unmarshal(output, &u)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return u
}

func copyFile(t *testing.T, from, to string, mode os.FileMode) string {
	t.Helper()
	source, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	target, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(target, source)
	if err := errors.Join(err, target.Close(), os.Chmod(to, mode)); err != nil {
		t.Fatal(err)
	}
	return to
}

func needsRoot(t *testing.T) {
	t.Helper()
	sharedFor(t)
	if os.Geteuid() != 0 {
		t.Skip("it takes root to become another user")
	}
}

func TestUserWithoutACgroup(t *testing.T) {
	needsRoot(t)
	u := runAsUser(t, "")
	if !u.NotPermitted {
		t.Fatalf("%+v", u)
	}
	// The words are the tracker's, and its tests'. They name what was asked, what
	// the system said, and what the person can do.
	for _, part := range []string{"cgroup: ", "permission denied", "as root"} {
		if !strings.Contains(u.Open, part) {
			t.Errorf("the error does not say %q: %s", part, u.Open)
		}
	}
	if u.Left != nil {
		t.Errorf("left: %v", u.Left)
	}
}

func TestUserWithACgroup(t *testing.T) {
	needsRoot(t)
	group := filepath.Join(ownCgroup(t), "host-test-"+strconv.Itoa(os.Getpid()))
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Skip(err)
	}
	defer func() {
		eventually(t, "the cgroup is empty", func() bool { return os.Remove(group) == nil })
	}()
	for _, name := range []string{"", "cgroup.procs", "cgroup.threads", "cgroup.subtree_control"} {
		if err := os.Chown(filepath.Join(group, name), nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	u := runAsUser(t, group)
	if u.Open != "" || u.Close != "" || u.Left != nil {
		t.Errorf("opening: %s, closing: %s, left: %v", u.Open, u.Close, u.Left)
	}
	if u.SetUID["unrestricted"] != "0" {
		t.Logf("set-uid programs have no effect here: %v", u.SetUID)
	} else if u.SetUID["workspace-write"] != strconv.Itoa(nobody) {
		t.Errorf("a confined set-uid program ran as %s", u.SetUID["workspace-write"])
	}
	if u.Tracing != "enforced" {
		t.Logf("tracing is %s for an ordinary user", u.Tracing)
	}
	if u.Environ["unrestricted"] != "" || u.Environ["workspace-write"] == "" {
		t.Errorf("reading the host's environment: %v", u.Environ)
	}
}
