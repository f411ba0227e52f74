//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/pinfold/pinfold/core"
)

// ownSession returns the session that a pinfold owns, as pinfold sessions lists it.
func (p *place) ownSession(pid int) *sessionRow {
	p.t.Helper()
	r := p.pinfold("sessions", "--json")
	var rows []sessionRow
	if err := json.Unmarshal([]byte(r.stdout), &rows); err != nil {
		p.t.Fatalf("%v: %s%s", err, r.stdout, r.stderr)
	}
	for i := range rows {
		if rows[i].Owner.PID == pid {
			return &rows[i]
		}
	}
	return nil
}

func TestSessionsAndKill(t *testing.T) {
	p := newPlace(t)
	s := p.start("loop")
	row := p.ownSession(s.cmd.Process.Pid)
	if row == nil || row.Processes != 1 || !row.OwnerAlive || row.Detached {
		t.Fatalf("the session is listed as %+v", row)
	}
	if r := p.pinfold("sessions"); !strings.Contains(r.stdout, fmt.Sprintf("%s  %-5d  ", row.Session, row.Owner.PID)) {
		t.Errorf("it is not in the table:\n%s", r.stdout)
	}
	if r := p.pinfold("kill", row.Session.String()[:shortestPrefix-1]); r.status != 1 {
		t.Errorf("a prefix that is too short: status %d: %s", r.status, r.stderr)
	}
	r := p.pinfold("kill", row.Session.String())
	if r.status != 0 || !regexp.MustCompile(`^`+row.Session.String()+`: killed 1 process \(\S+ \d+\)\n$`).MatchString(r.stdout) {
		t.Errorf("status %d: %s%s", r.status, r.stdout, r.stderr)
	}
	if status := s.status(); status != 137 {
		t.Errorf("the killed command's pinfold exits with %d", status)
	}
	if row := p.ownSession(s.cmd.Process.Pid); row != nil {
		t.Errorf("it is still listed: %+v", row)
	}
}

func TestChoose(t *testing.T) {
	var list []core.SessionStatus
	for _, id := range []string{"01a1fbfa-7c1c-7d5d-840d-a270113ff900", "01a1fbfa-7c1c-7d5d-840d-a270113ff901", "01a1fbfb-0000-7000-8000-000000000000"} {
		session, err := core.ParseSessionID(id)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, core.SessionStatus{Handle: core.Handle{Session: session}})
	}
	for _, test := range []struct {
		name, want string
	}{
		{"01a1fbfa-7c1c-7d5d-840d-a270113ff900", "01a1fbfa-7c1c-7d5d-840d-a270113ff900"},
		{"01a1fbfb", "01a1fbfb-0000-7000-8000-000000000000"},
		{"01a1fbfb-00", "01a1fbfb-0000-7000-8000-000000000000"},
		{"01a1fbf", `"01a1fbf" is too short to name a session: give 8 characters or more (pinfold sessions lists them)`},
		{"", `"" is too short to name a session: give 8 characters or more (pinfold sessions lists them)`},
		{"01a1fbfa", `"01a1fbfa" begins the ids of 2 sessions: give more of it (pinfold sessions lists them)`},
		{"01a1fbfc", `there is no session "01a1fbfc" (pinfold sessions lists them)`},
	} {
		got, err := choose(list, test.name)
		answer := fmt.Sprint(err)
		if err == nil {
			answer = got.Handle.Session.String()
		}
		if answer != test.want {
			t.Errorf("choose(%q): %s", test.name, answer)
		}
	}
}

// When pinfold itself is killed, the tracker sees the end of its host and kills
// the session.
func TestKilledPinfoldLeavesNothing(t *testing.T) {
	p := newPlace(t)
	s := p.start("loop")
	owner := s.cmd.Process.Pid
	row := p.ownSession(owner)
	if row == nil {
		t.Fatal("the session is not listed")
	}
	var command int
	for _, pid := range processesWhere(func(stat []string) bool { return stat[1] == itoa(owner) && stat[3] == itoa(owner) }) {
		command = pid
	}
	if command == 0 {
		t.Fatal("the command is not there")
	}
	s.signal(syscall.SIGKILL)
	s.status()
	waitFor(t, "the command's end", func() bool { return !alive(command) })
	waitFor(t, "the cgroup to be removed", func() bool { return len(cgroups(row.Session.String())) == 0 })
	waitFor(t, "the backends to remove their sockets", func() bool {
		left, _ := filepath.Glob(filepath.Join(p.temp, "pinfold-*", "plugin-dir*"))
		return len(left) == 0
	})
	if row := p.ownSession(owner); row != nil {
		t.Errorf("the session is still listed: %+v", row)
	}
	// Its temporary directory is for the next host, or for sweep.
	if r := p.pinfold("sweep"); r.status != 0 || !strings.HasPrefix(r.stdout, "ended ") {
		t.Errorf("sweep: status %d: %s%s", r.status, r.stdout, r.stderr)
	}
}

// When nobody is left to do it, the next sweep does.
func TestSweepAfterEverybodyWasKilled(t *testing.T) {
	p := newPlace(t)
	s := p.start("loop")
	owner := s.cmd.Process.Pid
	row := p.ownSession(owner)
	if row == nil {
		t.Fatal("the session is not listed")
	}
	for _, pid := range processesWhere(func(stat []string) bool { return stat[1] == itoa(owner) && stat[3] != itoa(owner) }) {
		syscall.Kill(pid, syscall.SIGSTOP) // so that a backend does not outlive its host by a moment
		defer syscall.Kill(pid, syscall.SIGKILL)
	}
	s.signal(syscall.SIGKILL)
	s.status()
	if row := p.ownSession(owner); row == nil || row.OwnerAlive || row.Processes != 1 {
		t.Errorf("before the sweep: %+v", row)
	}
	r := p.pinfold("sweep", "--json")
	var swept core.SweepReport
	if err := json.Unmarshal([]byte(r.stdout), &swept); err != nil || r.status != 0 {
		t.Fatalf("status %d, %v: %s", r.status, err, r.stderr)
	}
	found := false
	for _, closed := range swept.Closed {
		found = found || closed.Handle.Session == row.Session
	}
	if !found || swept.Killed < 1 {
		t.Errorf("swept %s", r.stdout)
	}
	if row := p.ownSession(owner); row != nil {
		t.Errorf("after the sweep: %+v", row)
	}
	for _, dir := range must(filepath.Glob(filepath.Join(p.temp, "pinfold-*", "plugin-dir*"))) {
		os.RemoveAll(dir) // of the backends that this test kills
	}
}

func must(list []string, _ error) []string { return list }

// alive reports whether a process exists and is not only waiting to be reaped.
func alive(pid int) bool {
	text, err := os.ReadFile("/proc/" + itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(text), ") Z ")
}

// cgroups returns the cgroups whose name carries a text.
func cgroups(text string) []string {
	var found []string
	filepath.WalkDir("/sys/fs/cgroup", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && strings.Contains(entry.Name(), text) {
			found = append(found, path)
		}
		return nil
	})
	return found
}
