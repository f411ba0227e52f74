package landlock

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
)

// dropCapabilities does what a host does for Birth.DropCapabilities.
func dropCapabilities(drop uint64) error {
	if drop == 0 {
		return nil
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return fmt.Errorf("capget: %w", err)
	}
	for n := range 64 {
		has, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, uintptr(n), 0, 0, 0)
		if err != nil || has == 0 || drop&(1<<n) == 0 || data[0].Effective&(1<<unix.CAP_SETPCAP) == 0 {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(n), 0, 0, 0); err != nil {
			return fmt.Errorf("bounding set: %w", err)
		}
	}
	for i := range data {
		keep := ^uint32(drop >> (32 * i))
		data[i].Effective &= keep
		data[i].Permitted &= keep
		data[i].Inheritable &= keep
	}
	if err := unix.Capset(&header, &data[0]); err != nil {
		return fmt.Errorf("capset: %w", err)
	}
	return nil
}

func needRoot(t *testing.T) {
	t.Helper()
	needLandlock(t, 2)
	if os.Geteuid() != 0 {
		t.Skip("needs root: a user has no capabilities to lose")
	}
}

// TestKeptCapabilities holds the table and the policies that it asks.
func TestKeptCapabilities(t *testing.T) {
	network := func(mode core.NetworkMode, bind ...uint16) core.Policy {
		p := core.WorkspaceWrite("/w")
		p.Network = core.NetworkPolicy{Mode: mode, Bind: bind}
		return p
	}
	sockets := core.Unrestricted("/w")
	sockets.Network.Mode = core.NetworkNone
	const always = "CAP_CHOWN CAP_DAC_OVERRIDE CAP_FOWNER CAP_FSETID CAP_KILL CAP_SETGID CAP_SETUID CAP_SETPCAP"
	for name, c := range map[string]struct {
		policy core.Policy
		kept   string
	}{
		"no network":         {network(core.NetworkNone), always},
		"ports to connect":   {network(core.NetworkPorts), always},
		"ports to bind":      {network(core.NetworkPorts, 80), always + " CAP_NET_BIND_SERVICE"},
		"the whole network":  {network(core.NetworkAll), always + " CAP_NET_BIND_SERVICE CAP_NET_RAW"},
		"network unconfined": {network(core.NetworkUnconfined), always + " CAP_NET_BIND_SERVICE CAP_NET_RAW"},
	} {
		if got := keptText(dropped(&c.policy)); got != c.kept {
			t.Errorf("%s: %s, want %s", name, got, c.kept)
		}
	}
	free := core.Unrestricted("/w")
	if dropped(&free) != 0 || dropped(&sockets) != 0 {
		t.Errorf("a policy that does not confine drops %#x, one about sockets %#x", dropped(&free), dropped(&sockets))
	}
	for _, k := range keptCapabilities {
		if k.why == "" || k.number > unix.CAP_LAST_CAP {
			t.Errorf("%+v", k)
		}
	}
}

// capabilityLines are the capability sets of a process, by their names.
func capabilityLines(t *testing.T, c command) map[string]uint64 {
	t.Helper()
	c.argv = []string{"/bin/cat", "/proc/self/status"}
	r := launch(t, c)
	found := map[string]uint64{}
	for line := range strings.Lines(r.stdout) {
		name, value, _ := strings.Cut(line, ":")
		if strings.HasPrefix(name, "Cap") {
			set, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64)
			must(t, err)
			found[name] = set
		}
	}
	if len(found) != 5 {
		t.Fatalf("status %d\n%s\n%s", r.status, r.stdout, r.stderr)
	}
	return found
}

// TestCapabilitiesAreLost: root and a user with ambient capabilities keep what the
// table says.
func TestCapabilitiesAreLost(t *testing.T) {
	needRoot(t)
	plan := mustPlan(t, New(), workspacePolicy(t, t.TempDir()))
	drop := plan.Birth.DropCapabilities
	for name, c := range map[string]command{
		"root": {dir: "/"},
		"user": {dir: "/", uid: 65534, ambient: []uintptr{unix.CAP_CHOWN, unix.CAP_SETPCAP, unix.CAP_SYS_RAWIO, unix.CAP_NET_ADMIN}},
	} {
		free := capabilityLines(t, c)
		c.plan = plan
		held := capabilityLines(t, c)
		if free["CapEff"]&drop == 0 {
			t.Fatalf("%s: nothing to lose: %#x", name, free)
		}
		for set := range free {
			if held[set] != free[set]&^drop {
				t.Errorf("%s: %s is %#x, was %#x, to drop %#x", name, set, held[set], free[set], drop)
			}
		}
	}
}

// TestKernelMemory: root's own /proc/kcore is closed by the loss of CAP_SYS_RAWIO.
func TestKernelMemory(t *testing.T) {
	needRoot(t)
	op := [][]string{{"readnow", "/proc/kcore"}}
	if free := doOps(t, nil, op)[0]; free != "ok" {
		t.Skipf("/proc/kcore cannot be read here: %s", free)
	}
	plan := mustPlan(t, New(), workspacePolicy(t, t.TempDir()))
	if got := doOps(t, plan, op)[0]; got != "EPERM" {
		t.Errorf("/proc/kcore: %s, want EPERM", got)
	}
	plan.Birth.DropCapabilities = 0
	if got := doOps(t, plan, op)[0]; got != "ok" {
		t.Errorf("/proc/kcore with all capabilities: %s, so it is not their loss that closes it", got)
	}
}

// TestRootsTools: what root does all day still works on the workspace.
func TestRootsTools(t *testing.T) {
	needRoot(t)
	for _, test := range []struct{ name, program, script, want string }{
		{"chown", "/bin/chown", `touch f && chown 1234:1234 f && chmod 640 f && stat -c '%u:%g %a' f`, "1234:1234 640\n"},
		{"tar", "/bin/tar", `mkdir d && touch d/f && chown 1234:1235 d/f && chmod 6755 d/f && touch -d @1000 d/f && tar cf t d && rm -r d && tar xpf t && stat -c '%u:%g %a %Y' d/f`, "1234:1235 6755 1000\n"},
		{"of others", "/bin/chown", `mkdir -m 700 o && echo x > o/f && chmod 600 o/f && chown -R 1234 o && echo y >> o/f && cat o/f && chmod 644 o/f && touch -d @1000 o/f && rm -r o && echo gone`, "x\ny\ngone\n"},
		{"setpriv", "/usr/bin/setpriv", `setpriv --reuid 65534 --regid 65534 --clear-groups id -u`, "65534\n"},
		{"runuser", "/sbin/runuser", `runuser -u nobody -- id -un`, "nobody\n"},
		{"su", "/bin/su", `su nobody -s /bin/sh -c 'id -un'`, "nobody\n"},
		{"kill of another user", "/usr/bin/setpriv", `exec 3< <(setpriv --reuid 65534 --clear-groups sh -c 'echo $$; exec sleep 20'); read pid <&3 && kill $pid && echo killed`, "killed\n"},
		{"apt", "/usr/bin/apt-get", `apt-get --version | head -1 | cut -d' ' -f1`, "apt\n"},
		{"dpkg-deb", "/usr/bin/dpkg-deb", `mkdir -p p/DEBIAN && printf 'Package: p\nVersion: 1\nArchitecture: all\nMaintainer: m <m@x>\nDescription: d\n' > p/DEBIAN/control && touch p/f && chown 1234 p/f && dpkg-deb -b p p.deb > /dev/null && dpkg-deb -x p.deb out && stat -c %u out/f`, "1234\n"},
		{"nice and taskset", "/usr/bin/taskset", `nice -n 5 nice; taskset -c 0 true && ulimit -n 64 && ulimit -n && echo done`, "5\n64\ndone\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := exec.LookPath(test.program); err != nil {
				t.Skipf("not on this machine: %v", err)
			}
			ws, _ := fixture(t)
			must(t, os.RemoveAll(ws))
			must(t, os.Mkdir(ws, 0o755))
			r := launch(t, command{plan: mustPlan(t, New(), workspacePolicy(t, ws)), dir: ws,
				argv: []string{"/bin/bash", "-c", test.script}, env: []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + ws, "TMPDIR=" + ws}})
			if r.stdout != test.want {
				t.Errorf("status %d\nstdout: %s\nstderr: %s", r.status, r.stdout, r.stderr)
			}
		})
	}
}
