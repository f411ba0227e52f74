package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pinfold/pinfold/internal/matrix/trial"
)

// The test binary is the rogue command too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && slices.Contains([]string{"attempt", "fork", "linger"}, os.Args[1]) {
		main()
		return
	}
	os.Exit(m.Run())
}

// What any machine and user lets a command do that is not confined. The rest depends on the kernel, the service manager, and
// what this test itself runs in.
var always = []string{
	"read", "list", "create", "append", "truncate", "rename", "remove", "execute", "chmod", "tcp", "udp", "listen", "socket",
	"datagram", "abstract", "variable", "descriptor", "signal", "environ", "daemon",
}

func TestUnconfinedAttemptsSucceed(t *testing.T) {
	dir := t.TempDir()
	servers, err := serve(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer servers.close()
	p, err := newPlace(filepath.Join(dir, "control"), servers)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	run, err := p.run(nil)
	if err != nil {
		t.Fatal(err)
	}
	if run.Status != trial.ExitStatus || run.Refused != "" {
		t.Errorf("exit status %d, refused: %q", run.Status, run.Refused)
	}
	for _, name := range always {
		if failure, made := run.Outcomes[name]; !made || failure != "" {
			t.Errorf("%s: made: %v, %s", name, made, failure)
		}
	}
	if len(run.Outcomes) != len(trial.Attempts) || len(attempts) != len(trial.Attempts) {
		t.Errorf("%d outcomes of %d attempts, and %d are known", len(run.Outcomes), len(trial.Attempts), len(attempts))
	}
	if found, err := p.daemons(); err != nil || len(found) > 0 {
		t.Errorf("daemons are left: %v, %v", found, err)
	}
}

func TestARefusalIsNoOutcome(t *testing.T) {
	dir := t.TempDir()
	servers, err := serve(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer servers.close()
	p, err := newPlace(filepath.Join(dir, "refused"), servers)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	run, err := p.run([]string{"/bin/sh", "-c", "echo pinfold: no >&2; exit 125"})
	if err != nil || run.Status != 125 || run.Outcomes != nil || run.Refused != "pinfold: no" {
		t.Errorf("%v: %+v", err, run)
	}
}
