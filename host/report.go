package host

import (
	"time"

	"github.com/pinfold/pinfold/core"
)

// A Report is what there is to say about a session.
type Report struct {
	Session   core.SessionID `json:"session"`
	Policy    string         `json:"policy"`
	Workspace string         `json:"workspace"`
	// BestEffort is set if commands could start although something required was
	// not enforced.
	BestEffort bool      `json:"best_effort"`
	Opened     time.Time `json:"opened"`
	Closed     time.Time `json:"closed"`

	Enforcement core.Enforcement `json:"enforcement"`
	// Constraints are what the tracker needed of the confiner.
	Constraints []core.ConstraintFinding `json:"constraints,omitempty"`
	// Withheld are the names of the host's variables that commands did not see.
	Withheld []string `json:"withheld,omitempty"`

	Commands []CommandReport `json:"commands"`
	// Left is what was still running at Close, and what became of it.
	Left *core.KillReport `json:"left"`
}

// A CommandReport is the life of one command.
type CommandReport struct {
	Args    []string      `json:"args"`
	Dir     string        `json:"dir"`
	Started time.Time     `json:"started"`
	Elapsed time.Duration `json:"elapsed_ns"`
	// Exited is false while nobody has waited for the command.
	Exited bool `json:"exited"`
	// ExitCode is the exit status, or -1 if a signal ended the command.
	ExitCode int    `json:"exit_code"`
	Signal   string `json:"signal,omitempty"`
}

// Lost returns the findings about dimensions that the policy asked for and that
// are not wholly enforced, in the order of the report.
func (r *Report) Lost() []core.Finding { return lost(&r.Enforcement) }

func lost(e *core.Enforcement) []core.Finding {
	var list []core.Finding
	for _, f := range e.Dimensions {
		if f.Level != core.Enforced {
			list = append(list, f)
		}
	}
	return list
}
