package core

import "fmt"

// A Level says how much of what was asked the system holds.
type Level int

// The levels, from best to worst. The zero value is invalid, so that a
// forgotten field cannot pass for a promise.
const (
	// Enforced: the kernel holds all of it against a hostile process.
	Enforced Level = iota + 1
	// Partial: the kernel holds some of it; the finding names the gap.
	Partial
	// Unsupported: the kernel holds nothing of it.
	Unsupported
	// Skipped: a rule had nothing to apply to, such as a path that does not
	// exist. Nothing was granted in its place.
	Skipped
)

var levelNames = [...]string{Enforced: "enforced", Partial: "partial", Unsupported: "unsupported", Skipped: "skipped"}

// Valid reports whether l is a level of contract version 1.
func (l Level) Valid() bool { return l >= Enforced && l <= Skipped }

func (l Level) String() string {
	if !l.Valid() {
		return fmt.Sprintf("Level(%d)", int(l))
	}
	return levelNames[l]
}

// MarshalText implements [encoding.TextMarshaler]; an invalid level is an error.
func (l Level) MarshalText() ([]byte, error) {
	if !l.Valid() {
		return nil, fmt.Errorf("core: invalid enforcement level %d", int(l))
	}
	return []byte(levelNames[l]), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (l *Level) UnmarshalText(text []byte) error {
	for level := Enforced; level.Valid(); level++ {
		if levelNames[level] == string(text) {
			*l = level
			return nil
		}
	}
	return fmt.Errorf("core: unknown enforcement level %s", quote(string(text)))
}

// A Finding says how one dimension, or one rule of it, is enforced.
type Finding struct {
	Dimension Dimension `json:"dimension"`
	// Rule is the rule in the words of the policy ("write /srv"), empty when
	// the finding is about the dimension as a whole.
	Rule  string `json:"rule,omitempty"`
	Level Level  `json:"level"`
	// Mechanism is what holds it ("Landlock ABI 7, seccomp").
	Mechanism string `json:"mechanism,omitempty"`
	// Gap is what is not held, in words that a person understands. Required
	// unless the level is Enforced.
	Gap string `json:"gap,omitempty"`
	// Observed and Required name what the machine has and what it would take
	// ("Landlock ABI 7", "Landlock ABI 9").
	Observed string `json:"observed,omitempty"`
	Required string `json:"required,omitempty"`
	// Remedy is what a person can do, if anything.
	Remedy string `json:"remedy,omitempty"`
}

// Enforcement is the honest answer to a policy: what is held and what is not.
// Backends contribute to it; the host adds what it enforces itself.
type Enforcement struct {
	// Dimensions has at most one finding for each dimension.
	Dimensions []Finding `json:"dimensions"`
	// Rules has a finding for each rule of the policy, the system paths among
	// them.
	Rules []Finding `json:"rules,omitempty"`
}

// Dimension returns the finding for d as a whole, or nil if there is none.
func (e *Enforcement) Dimension(d Dimension) *Finding {
	for i := range e.Dimensions {
		if e.Dimensions[i].Dimension == d {
			return &e.Dimensions[i]
		}
	}
	return nil
}
