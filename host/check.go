package host

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pinfold/pinfold/core"
)

// An UnenforcedError says what a policy requires and this machine does not
// enforce. errors.Is matches it with core.ErrUnenforced.
type UnenforcedError struct {
	// Findings are what is missing, at least one.
	Findings []core.Finding
}

func (e *UnenforcedError) Error() string {
	var b strings.Builder
	b.WriteString("the policy cannot be enforced here, and nothing was started")
	for _, f := range e.Findings {
		fmt.Fprintf(&b, "\n  %s", describeFinding(f))
	}
	return b.String()
}

// Unwrap returns core.ErrUnenforced.
func (e *UnenforcedError) Unwrap() error { return core.ErrUnenforced }

func describeFinding(f core.Finding) string {
	var b strings.Builder
	b.WriteString(string(f.Dimension))
	if f.Rule != "" {
		fmt.Fprintf(&b, " (%s)", f.Rule)
	}
	fmt.Fprintf(&b, " is %s: %s", f.Level, f.Gap)
	if f.Required != "" {
		fmt.Fprintf(&b, "; it takes %s", f.Required)
		if f.Observed != "" {
			fmt.Fprintf(&b, ", here is %s", f.Observed)
		}
	}
	if f.Remedy != "" {
		fmt.Fprintf(&b, "; remedy: %s", f.Remedy)
	}
	return b.String()
}

// check refuses a session that lacks something its policy requires.
func check(p *core.Policy, e *core.Enforcement) error {
	if p.BestEffort {
		return nil
	}
	var missing []core.Finding
	for _, f := range e.Dimensions {
		if f.Level != core.Enforced && p.Requires(f.Dimension) {
			missing = append(missing, f)
		}
	}
	for _, f := range e.Rules {
		// A rule that holds in part is told of in the report; one that does not
		// hold at all was asked for in vain.
		if f.Level == core.Unsupported {
			missing = append(missing, f)
		}
	}
	if len(missing) > 0 {
		return &UnenforcedError{Findings: missing}
	}
	return nil
}

// enforcement puts together what the backends and the host itself enforce. A
// dimension that was asked for and that nobody answers is unsupported.
func enforcement(p *core.Policy, opened *core.Opened, plan *core.Plan) core.Enforcement {
	answers := core.Enforcement{Dimensions: JoinFindings(slices.Concat(
		Findings(), opened.Enforcement.Dimensions, plan.Enforcement.Dimensions))}
	e := core.Enforcement{Rules: slices.Concat(opened.Enforcement.Rules, plan.Enforcement.Rules)}
	for _, d := range core.Dimensions() {
		if !p.Asks(d) {
			continue
		}
		finding := core.Finding{Dimension: d, Level: core.Unsupported, Gap: "no backend answers for it"}
		if answer := answers.Dimension(d); answer != nil {
			finding = *answer
		}
		if d == core.Cleanup {
			finding = withConstraints(finding, opened.Constraints, plan.Constraints)
		}
		e.Dimensions = append(e.Dimensions, finding)
	}
	return e
}

// Findings returns what a host enforces by itself, on every machine.
func Findings() []core.Finding {
	return []core.Finding{
		{Dimension: core.Environment, Level: core.Enforced, Mechanism: "the host passes what the policy lists"},
		{Dimension: core.Descriptors, Level: core.Enforced, Mechanism: "the host closes all that were not given"},
	}
}

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
	if len(open) == 0 || f.Level != core.Enforced {
		return f
	}
	f.Level = core.Partial
	f.Gap = "a hostile process can leave the session: " + strings.Join(open, "; ")
	f.Remedy = strings.Join(remedies, "; ")
	if f.Remedy == "" {
		f.Remedy = "use a preset that confines"
	}
	return f
}

// complete refuses a plan that lost a contribution or did not answer a
// constraint.
func complete(request *core.PlanRequest, plan *core.Plan) error {
	incomplete := func(format string, args ...any) error {
		return &core.Error{Reason: core.ErrInternal, Stage: core.StageCheck, Detail: fmt.Sprintf(format, args...),
			Remedy: "use another version of the confiner"}
	}
	for _, contribution := range request.Contributions {
		if !slices.Contains(plan.Echoes, contribution.Digest()) {
			return incomplete("the confiner's plan does not carry the tracker's contribution in %s", contribution.Dialect)
		}
	}
	if len(plan.Constraints) != len(request.Constraints) {
		return incomplete("the confiner answered %d of the tracker's %d constraints", len(plan.Constraints), len(request.Constraints))
	}
	for i, answer := range plan.Constraints {
		if answer.Constraint != request.Constraints[i] {
			return incomplete("the confiner answered another constraint than the tracker's on %q", request.Constraints[i].Path)
		}
	}
	return nil
}

// allowWrappers refuses programs that neither belong to the confiner's package
// nor were allowed by the application.
func (h *Host) allowWrappers(wrappers []core.Wrapper) error {
	for _, w := range wrappers {
		own := filepath.Dir(w.Path) == filepath.Dir(h.confiner.Program().Path)
		if filepath.IsAbs(w.Path) && filepath.Clean(w.Path) == w.Path && (own || slices.Contains(h.options.Wrappers, w.Path)) {
			continue
		}
		return &core.Error{
			Reason: core.ErrNotPermitted, Stage: core.StageCheck, Path: w.Path,
			Detail: "the confiner wants to put a program in front of the command that is not its own",
			Remedy: "list it in the host's options if it is meant to be used",
		}
	}
	return nil
}
