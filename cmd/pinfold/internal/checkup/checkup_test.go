package checkup

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/host"
	"github.com/pinfold/pinfold/internal/golden"
)

// compare compares a text with its golden file, and its lines with the width of a
// terminal.
func compare(t *testing.T, name, text string) {
	t.Helper()
	golden.Compare(t, name, text)
	for line := range strings.Lines(text) {
		if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > width {
			t.Errorf("a line of %s is wider than %d columns: %s", name, width, line)
		}
	}
}

// machine is a made-up machine: a result that every real one changes now and then
// could not be compared.
func machine() *Result {
	r := New("1.2.3")
	r.Platform = "linux/amd64"
	r.Add(nil, &core.Capability{Findings: host.Findings()})
	r.Add(&core.Description{Name: "tracker", Version: "0.1.0"}, &core.Capability{
		Findings: []core.Finding{
			{Dimension: core.Cleanup, Level: core.Enforced, Mechanism: "cgroup v2"},
			{Dimension: core.Limits, Level: core.Unsupported, Gap: "neither processes nor memory are bounded",
				Observed: "no controllers", Required: "the pids and memory controllers", Remedy: "start the kernel with systemd.unified_cgroup_hierarchy=1"},
		},
		Facts: []core.Fact{{Name: "kernel", Value: "6.18"}, {Name: "cgroup v1 mounted at", Value: strings.Repeat("/sys/fs/cgroup/controller ", 6)}},
	})
	r.Add(&core.Description{Name: "confiner", Version: "0.2.0"}, &core.Capability{
		Findings: []core.Finding{
			{Dimension: core.FSRead, Level: core.Enforced, Mechanism: "Landlock ABI 7"},
			{Dimension: core.FSWrite, Level: core.Enforced, Mechanism: "Landlock ABI 7"},
			{Dimension: core.FSExecute, Level: core.Partial, Mechanism: "Landlock ABI 7", Gap: strings.Repeat("a gap that takes several words to explain, ", 4) + "really"},
			{Dimension: core.FSMetadata, Level: core.Unsupported, Gap: "chmod is free", Observed: "Landlock ABI 7", Required: "a Landlock right that no kernel has yet"},
			{Dimension: core.Network, Level: core.Enforced, Mechanism: strings.Repeat("a mechanism with a long name, ", 5)},
			{Dimension: core.UnixSockets, Level: core.Enforced, Mechanism: "seccomp"},
		},
		Facts: []core.Fact{{Name: "seccomp filters", Value: "available"}},
	})
	return r
}

func TestText(t *testing.T) {
	policy := core.WorkspaceWrite("/w")
	r := machine()
	r.Conclude(Judge(&policy, &core.Enforcement{Dimensions: []core.Finding{{Dimension: core.FSExecute, Level: core.Partial}}}, nil))
	compare(t, "works.txt", r.Text(Plain, false))
	compare(t, "works-with-facts.txt", r.Text(Plain, true))
	marked := r.Text(func(level core.Level, word string) string { return "<" + word + ">" }, false)
	if plain := strings.NewReplacer("<", "", ">", "").Replace(marked); plain != r.Text(Plain, false) || !strings.Contains(marked, "<partial    >") {
		t.Errorf("a style must change nothing but the marks:\n%s", marked)
	}

	r = machine()
	r.Conclude(Judge(&policy, nil, &host.UnenforcedError{Findings: []core.Finding{
		{Dimension: core.Network, Level: core.Unsupported, Gap: "sockets of every family can be made"},
		{Dimension: core.FSRead, Rule: "read /srv", Level: core.Unsupported, Gap: "nothing holds it"},
		{Dimension: core.Cleanup, Level: core.Partial, Gap: "a hostile process can leave the session"},
	}}))
	compare(t, "refuses.txt", r.Text(Plain, false))

	r = New("1.2.3")
	r.Platform = "plan9/amd64"
	r.Trouble(errors.New("the tracker is out to lunch"))
	r.Trouble(errors.New("the tracker is out to lunch"))
	r.Add(nil, &core.Capability{Findings: host.Findings()})
	r.Complete()
	r.Conclude(Judge(&policy, nil, errors.New("there is no tracker")))
	compare(t, "trouble.txt", r.Text(Plain, false))
	if r.Verdict.Runs || len(r.Problems) != 1 {
		t.Errorf("%+v", r)
	}
}
