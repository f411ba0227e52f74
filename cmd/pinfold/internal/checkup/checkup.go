// Package checkup is what pinfold doctor finds out, and how it is shown.
package checkup

import (
	"errors"
	"runtime"
	"slices"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/host"
)

// A Result is what a machine can enforce.
type Result struct {
	Pinfold  string `json:"pinfold"`
	Platform string `json:"platform"`
	// Backends are those that answered.
	Backends []Backend `json:"backends"`
	// Findings are in the order of core.Dimensions, one for each dimension.
	Findings []core.Finding `json:"findings"`
	// Problems are what kept a backend from answering.
	Problems []string `json:"problems"`
	Verdict  Verdict  `json:"verdict"`
}

// A Backend is one backend and what its findings rest on.
type Backend struct {
	core.Description
	Facts []core.Fact `json:"facts"`
}

// A Verdict says what became of a session under the default preset.
type Verdict struct {
	Preset string `json:"preset"`
	// Require are the dimensions that the preset requires.
	Require []core.Dimension `json:"require"`
	// Runs is false if pinfold run would start nothing.
	Runs bool `json:"runs"`
	// Problem is why, Missing what was required and is not enforced, if that is why.
	Problem string         `json:"problem,omitempty"`
	Missing []core.Finding `json:"missing,omitempty"`
	// Lost are the dimensions that the preset wants and does not wholly get.
	Lost []core.Dimension `json:"lost,omitempty"`
}

// New returns a result in which nothing is found yet.
func New(version string) *Result {
	return &Result{
		Pinfold: version, Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Backends: []Backend{}, Findings: []core.Finding{}, Problems: []string{},
	}
}

// Add adds what a backend said, or the host itself, for which description is nil.
func (r *Result) Add(description *core.Description, c *core.Capability) {
	if description != nil {
		r.Backends = append(r.Backends, Backend{*description, c.Facts})
	}
	r.Findings = host.JoinFindings(append(r.Findings, c.Findings...))
}

const unanswered = "no backend answers for it"

// Complete adds a finding for each dimension of which nobody has said anything.
func (r *Result) Complete() {
	for _, d := range core.Dimensions() {
		if !slices.ContainsFunc(r.Findings, func(f core.Finding) bool { return f.Dimension == d }) {
			r.Add(nil, &core.Capability{Findings: []core.Finding{
				{Dimension: d, Level: core.Unsupported, Gap: unanswered},
			}})
		}
	}
}

// Trouble notes that something could not be found out.
func (r *Result) Trouble(err error) {
	if !slices.Contains(r.Problems, err.Error()) {
		r.Problems = append(r.Problems, err.Error())
	}
}

// Conclude notes the verdict. What a session under the preset did not get counts
// more than what a backend says of itself: a tracker answers for clean-up on
// condition that a confiner holds its constraints.
func (r *Result) Conclude(v Verdict) {
	r.Verdict = v
	for _, missing := range v.Missing {
		for i, f := range r.Findings {
			if missing.Rule == "" && f.Dimension == missing.Dimension && f.Level < missing.Level {
				r.Findings[i] = missing
			}
		}
	}
}

// Judge returns the verdict on a policy: the enforcement that a session under it
// reported, or the error with which it was refused.
func Judge(p *core.Policy, e *core.Enforcement, err error) Verdict {
	v := Verdict{Preset: p.Name, Require: p.Require, Runs: err == nil}
	if err != nil {
		v.Problem = err.Error()
		var unenforced *host.UnenforcedError
		if errors.As(err, &unenforced) {
			v.Missing = unenforced.Findings
		}
		return v
	}
	for _, f := range e.Dimensions {
		if f.Level != core.Enforced {
			v.Lost = append(v.Lost, f.Dimension)
		}
	}
	return v
}
