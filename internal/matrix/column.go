package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pinfold/pinfold/internal/matrix/trial"
)

// column is what the matrix says of one machine.
type column struct {
	machine string
	// standard and bestEffort say whether pinfold run starts a command, "runs" or "refused: " and why; bestEffort is empty where
	// standard is "runs".
	standard, bestEffort string
	trackedBy            string
	levels               map[string]string // by dimension
	// Attempts that succeeded without pinfold are held or succeeded under it; the others are untried. All three are empty where
	// pinfold starts nothing.
	held, succeeded, untried []string
	// disagrees says where doctor's list and its verdict are not of one opinion.
	disagrees []string
	// faults are what must not be, whatever the golden file says.
	faults []string
}

const (
	enforced    = "enforced"
	partial     = "partial"
	unsupported = "unsupported"
	runs        = "runs"
	refused     = "refused: "
)

// statusFailed is what pinfold run exits with when it starts nothing.
const statusFailed = 125

// levels from the best to the worst.
var levels = []string{enforced, partial, unsupported}

// checkup is the part of the output of pinfold doctor --json that the matrix looks at.
type checkup struct {
	Findings []finding `json:"findings"`
	Problems []string  `json:"problems"`
	Verdict  struct {
		Runs    bool      `json:"runs"`
		Problem string    `json:"problem"`
		Missing []finding `json:"missing"`
	} `json:"verdict"`
}

type finding struct {
	Dimension string `json:"dimension"`
	Level     string `json:"level"`
	Mechanism string `json:"mechanism"`
	Observed  string `json:"observed"`
}

func newColumn(m machine, o *trial.Observation) (column, error) {
	c := column{machine: m.name(), levels: map[string]string{}}
	var doctor checkup
	if err := json.Unmarshal(o.Doctor, &doctor); err != nil {
		return c, fmt.Errorf("pinfold doctor: %w", err)
	}
	if err := c.readLevels(&doctor); err != nil {
		return c, err
	}
	same := func(text string) string { return generalize(text, o.Release, m.kernel) }
	c.trackedBy = same(c.trackedBy)
	c.standard = same(outcome(o.Default, &doctor))
	run := o.Default
	if o.BestEffort != nil {
		c.bestEffort = same(outcome(*o.BestEffort, &doctor))
		run = *o.BestEffort
	}
	c.readOutcomes(o.Control, run)
	if doctor.Verdict.Runs != (o.Default.Outcomes != nil) {
		c.fault("doctor says that the default preset runs: %v, but it is so: %v", doctor.Verdict.Runs, o.Default.Outcomes != nil)
	}
	return c, nil
}

func (c *column) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

// readLevels takes the worse of what doctor's list and its verdict say.
func (c *column) readLevels(doctor *checkup) error {
	var found []string
	for _, f := range doctor.Findings {
		found = append(found, f.Dimension)
		c.levels[f.Dimension] = f.Level
		if f.Dimension == "cleanup" && f.Level != unsupported {
			c.trackedBy = f.Mechanism
		}
	}
	for _, f := range doctor.Verdict.Missing {
		if list := c.levels[f.Dimension]; list != f.Level {
			c.disagrees = append(c.disagrees, fmt.Sprintf("%s: %s in doctor's list, %s in its verdict", f.Dimension, list, f.Level))
			if slices.Index(levels, f.Level) > slices.Index(levels, list) {
				c.levels[f.Dimension] = f.Level
			}
		}
	}
	for _, problem := range doctor.Problems {
		c.fault("doctor has a problem: %s", problem)
	}
	if !slices.Equal(found, trial.Dimensions) {
		return fmt.Errorf("pinfold doctor lists the dimensions %q, the matrix knows %q: bring trial.Dimensions up to date", found, trial.Dimensions)
	}
	for dimension, level := range c.levels {
		if !slices.Contains(levels, level) {
			return fmt.Errorf("pinfold doctor says of %s that it is %q, which the matrix does not know", dimension, level)
		}
	}
	return nil
}

// readOutcomes compares the attempts of a run with those of the control.
func (c *column) readOutcomes(control, run trial.Run) {
	if control.Status != trial.ExitStatus {
		c.fault("the control ended with exit status %d, not %d", control.Status, trial.ExitStatus)
	}
	if run.Outcomes == nil {
		if run.Status != statusFailed {
			c.fault("pinfold run started nothing and ended with exit status %d, not %d", run.Status, statusFailed)
		}
		return
	}
	if run.Status != trial.ExitStatus {
		c.fault("pinfold run ended with exit status %d, its command with %d", run.Status, trial.ExitStatus)
	}
	for _, a := range trial.Attempts {
		failure, made := run.Outcomes[a.Name]
		controlFailure, controlMade := control.Outcomes[a.Name]
		switch {
		case !controlMade || controlFailure != "":
			c.untried = append(c.untried, a.Name)
		case !made:
			c.fault("the rogue command said nothing of %s", a.Name)
		case failure != "":
			c.held = append(c.held, a.Name)
		default:
			c.succeeded = append(c.succeeded, a.Name)
			if c.levels[a.Dimension] == enforced {
				c.fault("HOLE: pinfold calls %s enforced, and a confined command could %s (%s)", a.Dimension, a.What, a.Name)
			}
		}
	}
}

// outcome says whether a run took place, and if not why: the first line of the error, and what doctor adds to it.
func outcome(run trial.Run, doctor *checkup) string {
	if run.Outcomes != nil {
		return runs
	}
	reason, rest, _ := strings.Cut(strings.TrimPrefix(run.Refused, "pinfold: "), "\n")
	if rest == "" || len(doctor.Verdict.Missing) == 0 {
		return refused + reason
	}
	var missing []string
	for _, f := range doctor.Verdict.Missing {
		missing = append(missing, f.Dimension+" "+f.Level)
	}
	reason += ": " + strings.Join(missing, ", ")
	if observed := doctor.Verdict.Missing[0].Observed; observed != "" {
		reason += "; " + observed
	}
	return refused + reason
}

var counted = regexp.MustCompile(`\b(run-u|run-r|session-|pinfold-doctor-|matrix-)[0-9a-f]+`)

// generalize takes out what differs between two runs on the same machine, and between two builds of the same kernel.
func generalize(text, release, kernel string) string {
	return counted.ReplaceAllString(strings.ReplaceAll(text, release, kernel), "${1}N")
}
