//go:build linux

package main

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pinfold/pinfold/cmd/pinfold/internal/checkup"
	"github.com/pinfold/pinfold/core"
)

func TestDoctor(t *testing.T) {
	p := newPlace(t)
	r := p.pinfold("doctor", "--json")
	var result checkup.Result
	if err := json.Unmarshal([]byte(r.stdout), &result); err != nil {
		t.Fatalf("%v: %s%s", err, r.stdout, r.stderr)
	}
	if r.status != 0 || !result.Verdict.Runs || len(result.Backends) != 2 || len(result.Problems) != 0 {
		t.Errorf("status %d: %+v", r.status, result)
	}
	found := map[core.Dimension]bool{}
	for _, f := range result.Findings {
		found[f.Dimension] = true
	}
	for _, d := range core.Dimensions() {
		if !found[d] {
			t.Errorf("nothing is said of %s", d)
		}
	}
	for _, args := range [][]string{{"doctor"}, {"doctor", "-v"}} {
		r = p.pinfold(args...)
		if r.status != 0 || !strings.Contains(r.stdout, "pinfold run works here") || strings.Contains(r.stdout, "\x1b") {
			t.Errorf("status %d:\n%s", r.status, r.stdout)
		}
		for line := range strings.Lines(r.stdout) {
			if utf8.RuneCountInString(line) > 81 {
				t.Errorf("a line is wider than 80 columns: %s", line)
			}
		}
	}
	// A backend that does not start is told of, and refuses.
	r = p.pinfold("doctor", "--confiner", "/bin/false")
	if r.status != 1 || !strings.Contains(r.stdout, "pinfold run refuses") {
		t.Errorf("status %d:\n%s%s", r.status, r.stdout, r.stderr)
	}
}

func TestDescribeBackend(t *testing.T) {
	p := newPlace(t)
	for _, test := range []struct{ name, service string }{{"landlock", "confiner"}, {"cgroup", "tracker"}} {
		r := p.pinfold("backend", "describe", test.name, "--json", "--probe")
		var got struct{ Services []service }
		if err := json.Unmarshal([]byte(r.stdout), &got); err != nil {
			t.Fatalf("%v: %s%s", err, r.stdout, r.stderr)
		}
		if len(got.Services) != 1 || got.Services[0].Service != test.service || got.Services[0].Description.Name != test.name ||
			len(got.Services[0].Capability.Findings) == 0 {
			t.Errorf("%s: %s", test.name, r.stdout)
		}
		if r := p.pinfold("backend", "describe", test.name); !strings.Contains(r.stdout, test.service+" "+test.name+" ") {
			t.Errorf("%s: %s%s", test.name, r.stdout, r.stderr)
		}
		if r := p.pinfold("backend", test.name); r.status != 2 || !strings.Contains(r.stderr, "a host application starts it") {
			t.Errorf("run by a person, %s: status %d %s", test.name, r.status, r.stderr)
		}
	}
	if r := p.pinfold("backend", "describe", "/bin/true"); r.status != 1 {
		t.Errorf("describing a program that is no backend: status %d %s", r.status, r.stdout)
	}
}

func TestRequire(t *testing.T) {
	p := newPlace(t)
	// No kernel enforces this one.
	r := p.pinfold("run", "--require", "fs.metadata", "--", "touch", "ran")
	for _, part := range []string{"the policy cannot be enforced here, and nothing was started", "fs.metadata: ", "gap ", "it takes "} {
		if !strings.Contains(r.stderr, part) {
			t.Errorf("the refusal does not say %q:\n%s", part, r.stderr)
		}
	}
	if r.status != 125 {
		t.Errorf("status %d", r.status)
	}
	r = p.pinfold("run", "--require", "fs.metadata", "--best-effort", "--", "sh", "-c", "test ! -e ran")
	if r.status != 0 || !strings.Contains(r.stderr, "not wholly enforced here: ") {
		t.Errorf("best effort: status %d %s", r.status, r.stderr)
	}
}
