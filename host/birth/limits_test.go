//go:build linux && (amd64 || arm64)

package birth

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
)

func TestLimits(t *testing.T) {
	free := observe(t, &Command{}, nil).Limits
	for r, name := range resources {
		soft, hard := uint64(1000), uint64(1500)
		switch r {
		case core.ResourceOpenFiles:
			soft, hard = 200, 300 // the Go program that observes raises its own
		case core.ResourceAddressSpace:
			soft, hard = 1<<50, 1<<51 // the race detector needs terabytes
		}
		limited := observe(t, &Command{}, &core.Birth{Limits: []core.ResourceLimit{{Resource: r, Soft: soft, Hard: hard}}}).Limits
		for other := range free {
			want := free[other]
			if other == name {
				want = limitText(soft) + " " + limitText(hard)
			}
			if r == core.ResourceOpenFiles && other == name {
				want = "299 300"
			}
			if limited[other] != want {
				t.Errorf("with %s limited, %s is %s, want %s", name, other, limited[other], want)
			}
		}
	}
}

// TestLimitHolds: a limit is enforced on the command, and not on this process.
func TestLimitHolds(t *testing.T) {
	dir := scratch(t)
	script := "exec 2>/dev/null; printf 123456789 > " + dir + "/file; exit $?"
	b := &core.Birth{Limits: []core.ResourceLimit{{Resource: core.ResourceFileSize, Soft: 4, Hard: 4}}}
	for want, birth := range map[int64]*core.Birth{9: nil, 4: b} {
		_, state := output(t, &Command{Path: "/bin/sh", Args: []string{"sh", "-c", script}, Files: make([]*os.File, 3)}, birth)
		info, err := os.Stat(dir + "/file")
		if err != nil || info.Size() != want {
			t.Errorf("%d bytes, want %d; %v, %v", info.Size(), want, state, err)
		}
	}
	if err := os.WriteFile(dir+"/file", make([]byte, 9), 0o600); err != nil {
		t.Error(err)
	}
}

// TestOriginalOpenFiles: the command has the limit on open files that this
// program was started with, not the one that Go raised for itself. It fails if
// a Go release initialises package syscall before nofile.
func TestOriginalOpenFiles(t *testing.T) {
	b := &core.Birth{Limits: []core.ResourceLimit{{Resource: core.ResourceOpenFiles, Soft: 256, Hard: 4096}}}
	if out, _ := output(t, child("nofile"), b); out != "raised 4095\ncommand 256\nchosen 1000\n" {
		t.Error(out)
	}
}

// nofile256 is a host started with a soft limit of 256: it prints its own limit, that
// of a command, and that of a command after it chose another one.
func nofile256([]string) {
	command := func() string {
		r, w, err := os.Pipe()
		must(err)
		process, err := Start(&Command{Path: "/bin/sh", Args: []string{"sh", "-c", "ulimit -Sn"}, Files: []*os.File{nil, w}}, nil)
		must(err)
		w.Close()
		var out [100]byte
		n, err := r.Read(out[:])
		must(err)
		_, err = process.Wait()
		must(err)
		return strings.TrimSpace(string(out[:n]))
	}
	var l unix.Rlimit
	must(unix.Getrlimit(unix.RLIMIT_NOFILE, &l))
	os.Stdout.WriteString("raised " + limitText(l.Cur) + "\n")
	os.Stdout.WriteString("command " + command() + "\n")
	must(unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 1000, Max: 4096}))
	os.Stdout.WriteString("chosen " + command() + "\n")
}
