package host

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/host/backend"
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
	if missing := unenforced(p, e); len(missing) > 0 && !p.BestEffort {
		return &UnenforcedError{Findings: missing}
	}
	return nil
}

// unenforced returns what of a policy's requirements does not hold.
func unenforced(p *core.Policy, e *core.Enforcement) []core.Finding {
	var missing []core.Finding
	for _, f := range e.Dimensions {
		if f.Level != core.Enforced && p.Requires(f.Dimension) {
			missing = append(missing, f)
		}
	}
	for _, f := range e.Rules {
		// A rule that holds in part is told of in the report, and one that had
		// nothing to apply to has granted nothing. One that does not hold at all
		// was asked for in vain.
		if f.Level != core.Enforced && f.Level != core.Partial && f.Level != core.Skipped {
			missing = append(missing, f)
		}
	}
	return missing
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
// nor were allowed by the application, and those that another user could replace.
func (h *Host) allowWrappers(wrappers []core.Wrapper) error {
	for _, w := range wrappers {
		if !h.allowsWrapper(w.Path) {
			return &core.Error{
				Reason: core.ErrNotPermitted, Stage: core.StageCheck, Path: w.Path,
				Detail: "the confiner wants to put a program in front of the command that is not its own",
				Remedy: "list it in the host's options if it is meant to be used",
			}
		}
		if _, err := backend.Find(w.Path); err != nil {
			return &core.Error{
				Reason: core.ErrNotPermitted, Stage: core.StageCheck, Path: w.Path, Err: err,
				Detail: "the confiner wants to put a program in front of the command that is not safe to run",
			}
		}
	}
	return nil
}

// allowsWrapper reports whether path was allowed, or is the confiner's program
// or one that is named after it in the same directory: "pinfold-NAME-stage"
// beside "pinfold-NAME".
func (h *Host) allowsWrapper(path string) bool {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return false
	}
	own := h.confinerProcess.Program()
	return path == own.Path || slices.Contains(h.options.Wrappers, path) ||
		!own.IsEmbedded() && strings.HasPrefix(path, own.Path+"-") && !strings.Contains(path[len(own.Path):], "/")
}
