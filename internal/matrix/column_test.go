package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/pinfold/pinfold/internal/matrix/trial"
)

// observed is what a machine on which all is well says: every attempt succeeds without pinfold, and none under it.
func observed(t *testing.T, change func(*trial.Observation, *checkup)) *trial.Observation {
	t.Helper()
	o := &trial.Observation{Release: "6.12.1-amd64"}
	doctor := &checkup{}
	for _, d := range trial.Dimensions {
		doctor.Findings = append(doctor.Findings, finding{Dimension: d, Level: enforced, Mechanism: "by 6.12.1-amd64"})
	}
	doctor.Verdict.Runs = true
	o.Control = trial.Run{Status: trial.ExitStatus, Outcomes: map[string]string{}}
	o.Default = trial.Run{Status: trial.ExitStatus, Outcomes: map[string]string{}}
	for _, a := range trial.Attempts {
		o.Control.Outcomes[a.Name], o.Default.Outcomes[a.Name] = "", "permission denied"
	}
	change(o, doctor)
	text, err := json.Marshal(doctor)
	if err != nil {
		t.Fatal(err)
	}
	o.Doctor = text
	return o
}

func TestFaultsAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*trial.Observation, *checkup)
		fault  string
	}{
		"all is well": {func(*trial.Observation, *checkup) {}, ""},
		"a hole":      {func(o *trial.Observation, _ *checkup) { o.Default.Outcomes["udp"] = "" }, "HOLE: pinfold calls network enforced"},
		"no hole where only a part is claimed": {func(o *trial.Observation, d *checkup) {
			o.Default.Outcomes["udp"] = ""
			d.Findings[slices.Index(trial.Dimensions, "network")].Level = partial
		}, ""},
		"no hole where the control fails too": {func(o *trial.Observation, _ *checkup) {
			o.Default.Outcomes["udp"], o.Control.Outcomes["udp"] = "", "no network"
		}, ""},
		"a hole under best effort": {func(o *trial.Observation, d *checkup) {
			run := o.Default
			run.Outcomes["read"] = ""
			o.BestEffort = &run
			o.Default = trial.Run{Status: statusFailed, Refused: "pinfold: no"}
			d.Verdict.Runs = false
		}, "HOLE: pinfold calls fs.read enforced"},
		"no answer":       {func(o *trial.Observation, _ *checkup) { delete(o.Default.Outcomes, "udp") }, "said nothing of udp"},
		"a wrong status":  {func(o *trial.Observation, _ *checkup) { o.Default.Status = 0 }, "ended with exit status 0"},
		"a wrong verdict": {func(_ *trial.Observation, d *checkup) { d.Verdict.Runs = false }, "doctor says that the default preset runs: false"},
		"a wrong promise": {func(o *trial.Observation, _ *checkup) {
			o.Default = trial.Run{Status: statusFailed, Refused: "pinfold: no"}
			o.BestEffort = &o.Default
		}, "doctor says that the default preset runs: true"},
		"a refusal that looks like success": {func(o *trial.Observation, d *checkup) {
			o.Default, d.Verdict.Runs = trial.Run{Status: 0, Refused: "pinfold: no"}, false
		}, "started nothing and ended with exit status 0"},
		"a broken control": {func(o *trial.Observation, _ *checkup) { o.Control.Status = 1 }, "the control ended with exit status 1"},
		"a problem":        {func(_ *trial.Observation, d *checkup) { d.Problems = []string{"it is gone"} }, "it is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			column, err := newColumn(machine{kernel: "6.12", user: "root"}, observed(t, c.change))
			if err != nil {
				t.Fatal(err)
			}
			faults := strings.Join(column.faults, "; ")
			if (faults != "") != (c.fault != "") || !strings.Contains(faults, c.fault) {
				t.Errorf("found %q, want %q", faults, c.fault)
			}
		})
	}
}

func TestColumn(t *testing.T) {
	c, err := newColumn(machine{kernel: "6.12", user: "user", cgroups: hybrid}, observed(t, func(o *trial.Observation, d *checkup) {
		o.Default = trial.Run{Status: statusFailed, Refused: "pinfold: it cannot be enforced\n\n  cleanup: partial"}
		d.Verdict.Runs = false
		d.Verdict.Missing = []finding{{Dimension: "cleanup", Level: partial, Observed: "/run-u17.service of 6.12.1-amd64"}}
	}))
	if err != nil {
		t.Fatal(err)
	}
	const want = `6.12, user, hybrid cgroups
	default      refused: it cannot be enforced: cleanup partial; /run-uN.service of 6.12
	tracked      by 6.12
	enforced     fs.read fs.write fs.execute fs.metadata network unix environment descriptors signals tracing terminal privileges limits
	partial      cleanup
	disagrees    cleanup: enforced in doctor's list, partial in its verdict
`
	if c.block() != want {
		t.Errorf("the block is\n%s", c.block())
	}
}

func TestUnknownWordsAreRefused(t *testing.T) {
	for name, change := range map[string]func(*trial.Observation, *checkup){
		"a dimension": func(_ *trial.Observation, d *checkup) {
			d.Findings = append(d.Findings, finding{Dimension: "gravity", Level: enforced})
		},
		"a level":             func(_ *trial.Observation, d *checkup) { d.Findings[0].Level = "mostly" },
		"a missing dimension": func(_ *trial.Observation, d *checkup) { d.Findings = d.Findings[1:] },
	} {
		if c, err := newColumn(machine{kernel: "6.12", user: "root"}, observed(t, change)); err == nil {
			t.Errorf("%s: taken as %+v", name, c)
		}
	}
}
