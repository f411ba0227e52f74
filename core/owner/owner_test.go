//go:build linux || darwin

package owner_test

import (
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/core/owner"
)

func TestSelfIsAlive(t *testing.T) {
	self, err := owner.Self()
	if err != nil {
		t.Fatal(err)
	}
	if self.PID != os.Getpid() || self.Start == 0 || self.Boot == "" {
		t.Errorf("Self = %+v", self)
	}
	again, err := owner.Of(os.Getpid())
	if err != nil || again != self {
		t.Errorf("Of(self) = %+v, %v; want %+v", again, err, self)
	}
	wantAlive(t, self, true)
}

// The same pid with another start time or of another boot is another process.
func TestReusedPIDIsNotAlive(t *testing.T) {
	self, err := owner.Self()
	if err != nil {
		t.Fatal(err)
	}
	reused := self
	reused.Start++
	wantAlive(t, reused, false)
	rebooted := self
	rebooted.Boot = "00000000-0000-0000-0000-000000000000"
	wantAlive(t, rebooted, false)
}

func TestNoSuchProcess(t *testing.T) {
	self, err := owner.Self()
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range []int{0, -1, 1 << 30} {
		if got, err := owner.Of(pid); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("Of(%d) = %+v, %v; want not found", pid, got, err)
		}
		wantAlive(t, core.Owner{PID: pid, Start: self.Start, Boot: self.Boot}, false)
	}
}

// A child lives, then is a zombie until it is reaped, then is gone: only the
// first counts as alive.
func TestChildLivesAndDies(t *testing.T) {
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	child, err := owner.Of(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	wantAlive(t, child, true)

	in.Close()
	out.Read(make([]byte, 1)) // end of file: the child is at least exiting
	waitForZombie(t, cmd.Process.Pid)
	wantAlive(t, child, false)
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	wantAlive(t, child, false)
}

func wantAlive(t *testing.T, o core.Owner, want bool) {
	t.Helper()
	if got, err := owner.Alive(o); err != nil || got != want {
		t.Errorf("Alive(%+v) = %v, %v; want %v", o, got, err, want)
	}
}
