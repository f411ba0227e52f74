//go:build linux

package landlock

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/internal/golden"
)

// userMachine is a machine of a normal user with that Landlock.
func userMachine(version int) *machine {
	m := &machine{release: "0.0.0", landlock: landlockActive, kernelABI: version, errata: 0xf, pipesCore: func() bool { return false }}
	if version > 0 {
		m.release = abis[min(version, newestABI())].kernel
	} else {
		m.landlock, m.release = landlockNotBuilt, "5.10"
	}
	return m
}

// machines are the ones that reports are kept for.
func machines() []struct {
	title string
	m     *machine
} {
	type entry = struct {
		title string
		m     *machine
	}
	var all []entry
	for version := 0; version <= newestABI()+1; version++ {
		title := fmt.Sprintf("ABI %d", version)
		if version == 0 {
			title = "no Landlock"
		}
		all = append(all, entry{title, userMachine(version)})
	}
	disabled := userMachine(0)
	disabled.landlock, disabled.release, disabled.modules = landlockDisabled, "6.12", "lockdown,capability,yama"
	all = append(all, entry{"Landlock disabled at boot", disabled})

	refused := userMachine(0)
	refused.landlock, refused.release = landlockRefused, "6.12"
	all = append(all, entry{"Landlock refused by a container", refused})

	for _, version := range []int{0, 3, 7, 9, 10} {
		m := userMachine(version)
		m.filter = errors.New("not available (seccomp: function not implemented)")
		all = append(all, entry{fmt.Sprintf("ABI %d without seccomp", version), m})
	}

	root := userMachine(7)
	root.mounter, root.capabilities = true, 1<<41-1
	all = append(all, entry{"ABI 7, root", root})
	return all
}

func reportText(m *machine, p core.Policy) string {
	var b strings.Builder
	for _, f := range newDesign(m, &p).findings() {
		fmt.Fprintf(&b, "%-10s %s", f.Dimension, f.Level)
		for _, part := range []struct{ name, text string }{
			{"by", f.Mechanism}, {"gap", f.Gap}, {"observed", f.Observed}, {"required", f.Required}, {"remedy", f.Remedy},
		} {
			if part.text != "" && !(part.name == "observed" && f.Level == core.Enforced) {
				fmt.Fprintf(&b, "\n    %s: %s", part.name, part.text)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// TestReports holds every report that a kernel can bring about, for the policies
// that differ in what they ask of it.
func TestReports(t *testing.T) {
	ports := core.WorkspaceWrite("/w")
	ports.Network = core.NetworkPolicy{Mode: core.NetworkPorts, Connect: []uint16{443}, Bind: []uint16{8080}}
	sockets := core.WorkspaceWrite("/w")
	sockets.Unix.Connect = []string{"/run/x.sock"}
	nothing := core.Unrestricted("/w")
	nothing.Require = core.Dimensions()
	for _, c := range []struct {
		name   string
		policy core.Policy
		only   []core.Dimension
	}{
		{"workspace-write", core.WorkspaceWrite("/w"), nil},
		{"ports", ports, []core.Dimension{core.Network}},
		{"unix-paths", sockets, []core.Dimension{core.UnixSockets}},
		{"required-not-asked", nothing, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b strings.Builder
			for _, entry := range machines() {
				fmt.Fprintf(&b, "## %s\n", entry.title)
				text := reportText(entry.m, c.policy)
				if c.only != nil {
					text = onlyDimensions(text, c.only)
				}
				b.WriteString(text + "\n")
			}
			golden.Compare(t, "report-"+c.name+".txt", b.String())
		})
	}
}

func onlyDimensions(text string, dims []core.Dimension) string {
	var b strings.Builder
	keep := false
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, " ") {
			keep = false
			for _, d := range dims {
				keep = keep || strings.HasPrefix(line, string(d)+" ")
			}
		}
		if keep {
			b.WriteString(line)
		}
	}
	return b.String()
}

// TestFindingsAreWhole: whatever is not enforced says what is missing, and every
// dimension that the policy asks of a confiner is answered.
func TestFindingsAreWhole(t *testing.T) {
	policy := core.WorkspaceWrite("/w")
	for _, entry := range machines() {
		findings := newDesign(entry.m, &policy).findings()
		seen := map[core.Dimension]bool{}
		for _, f := range findings {
			if seen[f.Dimension] {
				t.Errorf("%s: %s is reported twice", entry.title, f.Dimension)
			}
			seen[f.Dimension] = true
			if !f.Level.Valid() || f.Level != core.Enforced && f.Gap == "" || f.Level == core.Enforced && f.Mechanism == "" {
				t.Errorf("%s: %+v", entry.title, f)
			}
		}
		for d := range dimensionFindings {
			if !seen[d] {
				t.Errorf("%s: %s is not reported", entry.title, d)
			}
		}
	}
}

func TestVersions(t *testing.T) {
	for i, a := range abis {
		if a.version != i {
			t.Errorf("version %d is at place %d", a.version, i)
		}
		if i > 0 && (a.kernel == "" || a.gives == "" || a.adds == rights{}) {
			t.Errorf("%+v", a)
		}
	}
	if len(fsRightNames) != 17 || supportedBy(newestABI()).fs != 1<<len(fsRightNames)-1 {
		t.Errorf("there are %d names for the rights %#x", len(fsRightNames), supportedBy(newestABI()).fs)
	}
	if supportedBy(newestABI()).net != 1<<len(netRightNames)-1 || supportedBy(newestABI()).scoped != 1<<len(scopeNames)-1 {
		t.Error("the names of network rights or scopes are not those of the table")
	}
	for want, version := range map[rights]int{wholeFS: 1, moving: 2, truncation: 3, tcpPorts: 4, signalScope: 6, abstractUnix: 6, pathUnix: 9} {
		if got := firstWith(want); got.version != version {
			t.Errorf("%+v is first in %v, want %d", want, got, version)
		}
	}
}

func TestFacts(t *testing.T) {
	var b strings.Builder
	for _, entry := range machines() {
		fmt.Fprintf(&b, "## %s\n", entry.title)
		facts := entry.m.facts()
		if entry.m.kernelABI == 7 {
			facts = append(facts, entry.m.versionFacts()...)
		}
		for _, f := range facts {
			fmt.Fprintf(&b, "%s: %s\n", f.Name, f.Value)
		}
		b.WriteString("\n")
	}
	golden.Compare(t, "facts.txt", b.String())
}
