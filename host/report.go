package host

import (
	"slices"
	"time"

	"github.com/pinfold/pinfold/core"
)

// A Report is what there is to say about a session. docs/report.md describes it
// as JSON.
type Report struct {
	Session   core.SessionID `json:"session"`
	Policy    string         `json:"policy"`
	Workspace string         `json:"workspace"`
	// BestEffort is set if commands could start although something required was
	// not enforced.
	BestEffort bool `json:"best_effort"`
	// Required are the dimensions that the policy requires; the others in
	// Enforcement are wanted.
	Required []core.Dimension `json:"required"`
	Opened   time.Time        `json:"opened"`
	// Closed is zero until the tracker has closed the session.
	Closed time.Time `json:"closed,omitzero"`

	Enforcement core.Enforcement `json:"enforcement"`
	// Unenforced is what would have kept the session from opening, but for best
	// effort.
	Unenforced []core.Finding `json:"unenforced,omitempty"`
	// Constraints are what the tracker needed of the confiner.
	Constraints []ConstraintReport `json:"constraints,omitempty"`
	// Withheld are the names of the host's variables that commands did not see.
	Withheld []string `json:"withheld,omitempty"`

	Commands []CommandReport `json:"commands"`
	// Incidents are what befell the tracker while the session was open, the
	// latest 64.
	Incidents []Incident `json:"incidents,omitempty"`
	// Left is what was still running at Close, and what became of it. It is nil
	// if the tracker could not be asked, of which Close returns the error.
	Left *core.KillReport `json:"left"`
}

// A CommandReport is the life of one command.
type CommandReport struct {
	Args    []string      `json:"args"`
	Dir     string        `json:"dir"`
	Started time.Time     `json:"started"`
	Elapsed time.Duration `json:"elapsed_ns"`
	// Exited is false if it is not known that the command has ended. Then
	// Elapsed and what follows mean nothing.
	Exited bool `json:"exited"`
	// ExitCode is the exit status, or -1 if a signal ended the command.
	ExitCode int    `json:"exit_code"`
	Signal   string `json:"signal,omitempty"`
}

// A ConstraintReport says whether the confiner held what the tracker needed.
type ConstraintReport struct {
	// Kind is "no write below" or "no connect".
	Kind     string `json:"kind"`
	Path     string `json:"path"`
	Why      string `json:"why"`
	Honoured bool   `json:"honoured"`
	Gap      string `json:"gap,omitempty"`
	Remedy   string `json:"remedy,omitempty"`
}

func answers(findings []core.ConstraintFinding) []ConstraintReport {
	kinds := map[core.ConstraintKind]string{core.NoWriteBelow: "no write below", core.NoConnect: "no connect"}
	var list []ConstraintReport
	for _, f := range findings {
		list = append(list, ConstraintReport{
			Kind: kinds[f.Constraint.Kind], Path: f.Constraint.Path, Why: f.Constraint.Why,
			Honoured: f.Honoured, Gap: f.Gap, Remedy: f.Remedy,
		})
	}
	return list
}

// Lost returns the findings about dimensions that the policy asked for, required
// or wanted, and that are not wholly enforced, in the order of the report.
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

// summary returns the report as things are now. The caller holds s.ending.
func (s *Session) summary() *Report {
	r := s.report
	r.Closed, r.Left = s.closed, s.left
	r.Incidents = s.host.incidentsBetween(r.Opened, s.closed)
	s.mu.Lock()
	commands := slices.Clone(s.commands)
	s.mu.Unlock()
	r.Commands = make([]CommandReport, len(commands))
	for i, c := range commands {
		r.Commands[i] = c.report()
	}
	return &r
}
