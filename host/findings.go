package host

import (
	"slices"
	"strings"

	"github.com/pinfold/pinfold/core"
)

// JoinFindings makes one finding of all that are about a dimension as a whole, in
// the order of core.Dimensions. Tracker and confiner can both be about one: the
// session's limits are the one's business, those of each process the other's. Such
// a finding has the worst level of the two, and what both said.
func JoinFindings(findings []core.Finding) []core.Finding {
	joined := make([]core.Finding, 0, len(findings))
	for _, d := range core.Dimensions() {
		first := true
		for _, f := range findings {
			switch {
			case f.Dimension != d:
			case first:
				joined, first = append(joined, f), false
			default:
				join(&joined[len(joined)-1], f)
			}
		}
	}
	return joined
}

func join(f *core.Finding, other core.Finding) {
	f.Level = max(f.Level, other.Level)
	f.Mechanism = joinText(f.Mechanism, other.Mechanism, ", ")
	f.Gap = joinText(f.Gap, other.Gap, "; ")
	f.Observed = joinText(f.Observed, other.Observed, ", ")
	f.Required = joinText(f.Required, other.Required, ", ")
	f.Remedy = joinText(f.Remedy, other.Remedy, "; ")
}

// joinText leaves out what is empty or said already.
func joinText(text, more, separator string) string {
	if more == "" || slices.Contains(strings.Split(text, separator), more) {
		return text
	}
	if text == "" {
		return more
	}
	return text + separator + more
}
