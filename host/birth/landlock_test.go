//go:build linux && (amd64 || arm64)

package birth

import (
	"os"
	"testing"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
)

func needLandlock(t *testing.T) {
	t.Helper()
	if abi, err := ll.LandlockGetABIVersion(); err != nil || abi < 1 {
		t.Skipf("needs Landlock: ABI %d, %v", abi, err)
	}
}

// rulesetWriting is a ruleset under which files can be written below dir only.
func rulesetWriting(t *testing.T, dir string) *os.File {
	t.Helper()
	fd, err := ll.LandlockCreateRuleset(&ll.RulesetAttr{HandledAccessFS: ll.AccessFSWriteFile | ll.AccessFSMakeReg}, 0)
	if err != nil {
		t.Fatal(err)
	}
	ruleset := os.NewFile(uintptr(fd), "ruleset")
	t.Cleanup(func() { ruleset.Close() })
	for _, path := range []string{dir, "/dev"} {
		parent, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		attr := ll.PathBeneathAttr{AllowedAccess: ll.AccessFSWriteFile | ll.AccessFSMakeReg, ParentFd: parent}
		err = ll.LandlockAddPathBeneathRule(fd, &attr, 0)
		unix.Close(parent)
		if err != nil {
			t.Fatal(err)
		}
	}
	return ruleset
}

func TestLandlock(t *testing.T) {
	needLandlock(t)
	in, out := scratch(t), scratch(t)
	expectTries(t, nil, "write:"+in+"/a", "ok", "write:"+out+"/a", "ok")
	b := &core.Birth{NoNewPrivileges: true, Landlock: []core.LandlockRuleset{{File: rulesetWriting(t, in)}}}
	expectTries(t, b, "write:"+in+"/b", "ok", "write:"+out+"/b", "EACCES", "read:"+out+"/a", "ok")
	// This process is as free as before.
	if err := os.WriteFile(out+"/c", nil, 0o600); err != nil {
		t.Error(err)
	}
}

// TestLandlockLayers: every ruleset is a layer, and all of them count.
func TestLandlockLayers(t *testing.T) {
	needLandlock(t)
	outer, other := scratch(t), scratch(t)
	inner := outer + "/inner"
	if err := os.Mkdir(inner, 0o777); err != nil {
		t.Fatal(err)
	}
	layers := []core.LandlockRuleset{{File: rulesetWriting(t, outer)}, {File: rulesetWriting(t, inner)}}
	b := &core.Birth{NoNewPrivileges: true, Landlock: layers}
	expectTries(t, b, "write:"+inner+"/a", "ok", "write:"+outer+"/a", "EACCES", "write:"+other+"/a", "EACCES")
}

func TestNoNewPrivileges(t *testing.T) {
	for want, b := range map[string]*core.Birth{"0": {}, "1": {NoNewPrivileges: true}} {
		if got := observe(t, &Command{}, b).Status["NoNewPrivs"]; got != want {
			t.Errorf("NoNewPrivs %s, want %s", got, want)
		}
	}
	if own := table("/proc/self/status")["NoNewPrivs"]; own != "0" {
		t.Errorf("this process has NoNewPrivs %s", own)
	}
}
