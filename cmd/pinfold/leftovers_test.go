//go:build linux

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestWhatIsLeftRunningIsKilledAndNamed(t *testing.T) {
	p := newPlace(t)
	for _, test := range []struct{ name, script, summary string }{
		{"nothing", "true", `^$`},
		{"a child", "sleep 1001 &", `^pinfold: killed 1 process left running \(\S+ \d+\)\n$`},
		{"a daemon", "setsid sleep 1002 & (setsid sleep 1003 & exit)", `^pinfold: killed 2 processes left running \(\S+ \d+, \S+ \d+\)\n$`},
		{"stopped and deaf", "(trap '' HUP TERM INT; kill -STOP $BASHPID) &", `^pinfold: killed 1 process left running \(\S+ \d+\)\n$`},
		{"many", "for i in {1..40}; do sleep 1004 & done", `^pinfold: killed 40 processes left running \(\S+ \d+(, \S+ \d+){31}, and 8 more\)\n$`},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := p.pinfold("run", "--", "bash", "-c", test.script)
			var summary string
			for line := range strings.Lines(r.stderr) {
				if !strings.Contains(line, "not wholly enforced") {
					summary += line
				}
			}
			if r.status != 0 || !regexp.MustCompile(test.summary).MatchString(summary) {
				t.Errorf("status %d, %q", r.status, r.stderr)
			}
			checkDead(t, r.stderr)
			if r := p.pinfold("run", "-q", "--", "bash", "-c", test.script); r.stderr != "" {
				t.Errorf("--quiet says %q", r.stderr)
			}
		})
	}
}

// checkDead fails the test if a process that was said to be killed is there.
func checkDead(t *testing.T, summary string) {
	t.Helper()
	for _, match := range regexp.MustCompile(`[ (]\S+ (\d+)[,)]`).FindAllStringSubmatch(summary, -1) {
		if pid, err := strconv.Atoi(match[1]); err != nil || alive(pid) {
			t.Errorf("%s lives", match[0])
		}
	}
}

func TestTimeoutKillsEverything(t *testing.T) {
	p := newPlace(t)
	alive := filepath.Join(p.workspace, "alive")
	script := `trap "" TERM HUP INT; setsid sh -c 'trap "" TERM; touch alive; exec sleep 1005' & wait`
	r := p.pinfold("run", "--timeout", "2s", "--", "bash", "-c", script)
	if r.status != 124 || !strings.Contains(r.stderr, "pinfold: the time of 2s was up: killed 2 processes (") {
		t.Errorf("status %d: %s", r.status, r.stderr)
	}
	if _, err := os.Stat(alive); err != nil {
		t.Skip("the daemon had not started in time on this machine")
	}
	checkDead(t, r.stderr)
}
