//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The user's service manager starts programs for whoever asks, outside of every
// session and policy. Under a preset that confines, nobody inside may ask it, nor
// move elsewhere what it gave to pinfold.
func TestNobodyInsideReachesTheUserManager(t *testing.T) {
	p := newPlace(t)
	runtime := fmt.Sprintf("/run/user/%d", os.Getuid())
	bus := "unix:path=" + runtime + "/bus"
	for _, tool := range []string{"systemd-run", "busctl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	p.env = append(p.env, "XDG_RUNTIME_DIR="+runtime, "DBUS_SESSION_BUS_ADDRESS="+bus)
	ask := p.command()
	ask.Path, ask.Args = "/bin/sh", []string{"sh", "-c", "systemd-run --user --quiet --wait --collect true"}
	if r := finish(t, ask); r.status != 0 {
		t.Skipf("no user manager that starts programs: %s", r.stderr)
	}
	const (
		outside = `case $(cat /proc/$$/cgroup) in *pinfold-*-*-*-*) ;; *) echo escaped;; esac`
		leave   = `for d in $(find %s -name cgroup.procs -writable 2>/dev/null); do
			echo $$ >$d && ` + outside + `; done 2>/dev/null`
	)
	for _, attempt := range []struct{ name, script string }{
		{"systemd-run", `systemd-run --user --quiet --wait --collect --pipe echo escaped`},
		{"its private socket", `env -u DBUS_SESSION_BUS_ADDRESS systemd-run --user --quiet --wait --collect --pipe echo escaped`},
		{"the message bus", `busctl --user --address=` + bus + ` call org.freedesktop.systemd1 /org/freedesktop/systemd1 ` +
			`org.freedesktop.systemd1.Manager ListUnits >/dev/null && echo escaped`},
		{"another cgroup", fmt.Sprintf(leave, "/sys/fs/cgroup")},
	} {
		inside := func(args ...string) result {
			args = append(append([]string{"run", "-q", "--env", "XDG_RUNTIME_DIR=" + runtime, "--env", "DBUS_SESSION_BUS_ADDRESS=" + bus}, args...),
				"--", "sh", "-c", attempt.script)
			return p.pinfold(args...)
		}
		t.Run(attempt.name, func(t *testing.T) {
			if r := inside("--preset", "unrestricted"); !strings.Contains(r.stdout, "escaped") {
				t.Fatalf("unconfined it should work: status %d, %s%s", r.status, r.stdout, r.stderr)
			}
			for _, args := range [][]string{
				{"--preset", "read-only"},
				{"--preset", "workspace-write"},
				{"--preset", "workspace-write", "--net", "all"},
				{"--preset", "workspace-write", "--write", filepath.Dir(p.workspace)},
			} {
				if r := inside(args...); strings.Contains(r.stdout, "escaped") || r.status == statusFailed {
					t.Errorf("%q: status %d, %s%s", args, r.status, r.stdout, r.stderr)
				}
			}
		})
	}
}
