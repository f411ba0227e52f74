//go:build linux && (amd64 || arm64)

package birth

import (
	"encoding/json"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
)

const (
	sysAdmin = 1 << unix.CAP_SYS_ADMIN
	sysRawIO = 1 << unix.CAP_SYS_RAWIO
	chown    = 1 << unix.CAP_CHOWN
	setpcap  = 1 << unix.CAP_SETPCAP
)

var capabilityFailures = map[string]failure{
	"a bounding set that may not be changed": {step: "capabilities", call: "prctl", errno: unix.EPERM, root: true,
		host:    &core.Birth{DropCapabilities: setpcap},
		prepare: func(_ string, _ *Command, b *core.Birth) { b.DropCapabilities = chown }},
	"a bounding set of a user": {step: "capabilities", call: "prctl", errno: unix.EPERM, user: true,
		prepare: func(_ string, _ *Command, b *core.Birth) { b.DropCapabilities = chown }},
	"no capset": {step: "capabilities", call: "capset", errno: unix.EPERM, host: refusing(unix.SYS_CAPSET),
		prepare: func(_ string, _ *Command, b *core.Birth) {
			b.Namespaces, b.DropCapabilities = core.NamespaceUser, sysAdmin
		}},
}

// A set of sets, by the names in /proc/PID/status.
type sets map[string]uint64

var setNames = []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}

func setsIn(status map[string]string) sets {
	s := sets{}
	for _, name := range setNames {
		s[name], _ = strconv.ParseUint(status[name], 16, 64)
	}
	return s
}

// bornSets returns the capability sets of a command and of what it executes.
func bornSets(b *core.Birth) (first, second sets, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	// The shell reads its own status, and cat is what it executes.
	const script = `while read line; do echo "$line"; done < /proc/self/status; echo; exec cat /proc/self/status`
	process, err := Start(&Command{
		Path: "/bin/sh", Args: []string{"sh", "-c", script}, Env: os.Environ(), Files: []*os.File{nil, w, os.Stderr},
	}, b)
	w.Close()
	if err != nil {
		return nil, nil, err
	}
	defer process.Wait()
	var out strings.Builder
	if _, err := r.WriteTo(&out); err != nil {
		return nil, nil, err
	}
	one, other, _ := strings.Cut(out.String(), "\n\n")
	return setsIn(fields(one)), setsIn(fields(other)), nil
}

// bearSets prints what bornSets says of the birth that is its argument.
func bearSets(args []string) {
	b := new(core.Birth)
	must(json.Unmarshal([]byte(args[0]), b))
	first, second, err := bornSets(b)
	must(err)
	must(json.NewEncoder(os.Stdout).Encode([]sets{first, second}))
}

// checkSets compares a command's sets, at first and after a further execve, with
// those of the same command that keeps its capabilities.
func checkSets(t *testing.T, kept, dropped []sets, drop uint64, exempt ...string) {
	t.Helper()
	for i, when := range []string{"the command", "what the command executes"} {
		for _, name := range setNames {
			want := kept[i][name] &^ drop
			if len(exempt) > 0 && name == exempt[0] {
				want = kept[i][name]
			}
			if got := dropped[i][name]; got != want {
				t.Errorf("%s: %s is %#x, want %#x", when, name, got, want)
			}
		}
	}
}

func TestDropCapabilities(t *testing.T) {
	needRoot(t)
	for name, b := range map[string]core.Birth{
		"root":                                      {},
		"root with no_new_privs":                    {NoNewPrivileges: true},
		"in a user namespace":                       {Namespaces: core.NamespaceUser},
		"in a user namespace with no_new_privs":     {Namespaces: core.NamespaceUser, NoNewPrivileges: true},
		"in a user and mount namespace, after both": {Namespaces: core.NamespaceUser | core.NamespaceMount},
	} {
		t.Run(name, func(t *testing.T) {
			first, second, err := bornSets(&b)
			if err != nil {
				t.Fatal(err)
			}
			if second["CapEff"]&chown == 0 || second["CapEff"]&setpcap == 0 {
				t.Skip("needs CAP_CHOWN and CAP_SETPCAP")
			}
			kept := []sets{first, second}
			for _, drop := range []uint64{sysAdmin | sysRawIO, ^uint64(chown), ^uint64(0), 1 << 63} {
				b.DropCapabilities = drop
				first, second, err := bornSets(&b)
				if err != nil {
					t.Fatal(err)
				}
				checkSets(t, kept, []sets{first, second}, drop)
			}
		})
	}
}

// TestDropUnderNoNewPrivs: without CAP_SETPCAP the bounding set stays, and gives
// nothing back.
func TestDropUnderNoNewPrivs(t *testing.T) {
	needRoot(t)
	run := func(host *core.Birth, b string) []sets {
		out, _ := output(t, child("sets", b), host)
		var both []sets
		if err := json.Unmarshal([]byte(out), &both); err != nil {
			t.Fatalf("%v in %q", err, out)
		}
		return both
	}
	host := &core.Birth{DropCapabilities: setpcap}
	kept := run(host, `{"NoNewPrivileges": true}`)
	dropped := run(host, `{"NoNewPrivileges": true, "DropCapabilities": 1}`) // CAP_CHOWN
	checkSets(t, kept, dropped, chown, "CapBnd")

	host.NoNewPrivileges = true
	checkSets(t, kept, run(host, `{"DropCapabilities": 1}`), chown, "CapBnd")
}

// TestDropOfAUser: a user's inheritable and ambient capabilities go as well.
func TestDropOfAUser(t *testing.T) {
	needRoot(t)
	run := func(b string) []sets {
		c := child("sets", b)
		cmd := exec.Command(c.Path)
		cmd.Args, cmd.Env, cmd.Stderr, cmd.Dir = c.Args, c.Env, os.Stderr, "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Credential:  &syscall.Credential{Uid: nobody, Gid: nobody},
			AmbientCaps: []uintptr{unix.CAP_CHOWN, unix.CAP_SETPCAP, unix.CAP_SETUID},
		}
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		var both []sets
		must(json.Unmarshal(out, &both))
		return both
	}
	kept := run(`{}`)
	if kept[1]["CapAmb"]&chown == 0 || kept[1]["CapInh"]&chown == 0 {
		t.Fatalf("the command has no ambient capabilities: %x", kept)
	}
	checkSets(t, kept, run(`{"DropCapabilities": 1}`), chown)
}

// TestDropNothing: neither a user without capabilities nor a birth that drops
// none makes a system call for it.
func TestDropNothing(t *testing.T) {
	host := &core.Birth{NoNewPrivileges: true, DropCapabilities: ^uint64(0)}
	out, _ := output(t, child("sets", `{"NoNewPrivileges": true, "DropCapabilities": 18446744073709551615}`), host)
	var both []sets
	if err := json.Unmarshal([]byte(out), &both); err != nil || both[1]["CapPrm"] != 0 {
		t.Errorf("%v, %x", err, both)
	}
	p, err := Compile(child("state"), &core.Birth{NoNewPrivileges: true})
	if err != nil || strings.Contains(p.String(), "capabilities") {
		t.Errorf("%v\n%v", err, p)
	}
}

// TestDropProtectsMounts: root that has lost CAP_SYS_ADMIN cannot undo its mounts.
func TestDropProtectsMounts(t *testing.T) {
	needRoot(t)
	dir := tree(t, "a/", "a/file")
	b := mounted(core.Mount{Kind: core.MountEmpty, Target: dir + "/a"})
	expectTries(t, b, "umount:"+dir+"/a", "ok", "read:"+dir+"/a/file", "ok")
	b.DropCapabilities = sysAdmin
	expectTries(t, b, "umount:"+dir+"/a", "EPERM", "read:"+dir+"/a/file", "ENOENT")
}
