package host

import (
	"slices"
	"strings"

	"github.com/pinfold/pinfold/core"
)

// Findings returns what a host enforces by itself on this platform.
func Findings() []core.Finding {
	return []core.Finding{
		{Dimension: core.Environment, Level: core.Enforced, Mechanism: "the host passes what the policy lists"},
		descriptorsFinding(),
	}
}

// enforcement puts together what the backends and the host itself enforce. Each
// dimension has one who answers for it: another's word on it does not count. A
// dimension that was asked for and that nobody answers is unsupported.
func enforcement(p *core.Policy, opened *core.Opened, plan *core.Plan) core.Enforcement {
	e := core.Enforcement{Rules: slices.Concat(opened.Enforcement.Rules, plan.Enforcement.Rules)}
	for _, d := range core.Dimensions() {
		if p.Asks(d) {
			e.Dimensions = append(e.Dimensions, finding(d, p, opened, plan))
		}
	}
	return e
}

func finding(d core.Dimension, p *core.Policy, opened *core.Opened, plan *core.Plan) core.Finding {
	unasked := *p
	unasked.Require = nil
	if !unasked.Asks(d) {
		return core.Finding{Dimension: d, Level: core.Unsupported,
			Gap: "the policy requires it, but restricts nothing of it", Remedy: "use a preset that confines, or set limits"}
	}
	switch d {
	case core.Environment, core.Descriptors:
		own := core.Enforcement{Dimensions: Findings()}
		return *own.Dimension(d)
	case core.Cleanup:
		return withConstraints(answer(d, "tracker", &opened.Enforcement), opened.Constraints, plan.Constraints)
	case core.Limits:
		var parts []core.Finding
		if limitsWhole(p.Limits) {
			parts = append(parts, answer(d, "tracker", &opened.Enforcement))
		}
		if limitsEach(p.Limits) {
			parts = append(parts, answer(d, "confiner", &plan.Enforcement))
		}
		return JoinFindings(parts)[0]
	}
	return answer(d, "confiner", &plan.Enforcement)
}

// answer returns a backend's finding on a dimension, and the absence of one as a
// finding.
func answer(d core.Dimension, role string, e *core.Enforcement) core.Finding {
	if f := e.Dimension(d); f != nil {
		return *f
	}
	return core.Finding{Dimension: d, Level: core.Unsupported, Gap: "the " + role + " does not answer for it",
		Remedy: "use another version of the " + role}
}

// limitsWhole and limitsEach report whether the session as a whole, and each of
// its processes, is limited.
func limitsWhole(l core.LimitsPolicy) bool { return l.Processes > 0 || l.Memory > 0 }
func limitsEach(l core.LimitsPolicy) bool  { return l.OpenFiles > 0 || l.FileSize > 0 || l.NoCore }

// withConstraints lowers the finding on clean-up if the confiner does not
// guarantee what the tracker needs.
func withConstraints(f core.Finding, asked []core.Constraint, answers []core.ConstraintFinding) core.Finding {
	var open, remedies []string
	for i, constraint := range asked {
		if i < len(answers) && answers[i].Honoured {
			continue
		}
		if !slices.Contains(open, constraint.Why) {
			open = append(open, constraint.Why)
		}
		if i < len(answers) && answers[i].Remedy != "" && !slices.Contains(remedies, answers[i].Remedy) {
			remedies = append(remedies, answers[i].Remedy)
		}
	}
	if len(open) == 0 {
		return f
	}
	if len(remedies) == 0 {
		remedies = []string{"use a preset that confines"}
	}
	if f.Level == core.Enforced {
		f.Level = core.Partial
	}
	f.Gap = joinText(f.Gap, "a hostile process can leave the session: "+strings.Join(open, "; "), "; ")
	f.Remedy = joinText(f.Remedy, strings.Join(remedies, "; "), "; ")
	return f
}
