package policyfile

import (
	"fmt"
	"strings"

	"github.com/pinfold/pinfold/core"
)

// An Error is one mistake in a policy file. errors.Is matches it with
// core.ErrInvalidPolicy.
type Error struct {
	// File is the name of the file as it was given.
	File string
	// Line and Column count from 1. They are 0 where there is none, and Column
	// is 0 where the line says enough.
	Line, Column int
	// Detail says what is wrong, Remedy what would be right.
	Detail string
	Remedy string
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(printable(e.File))
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	if e.Column > 0 {
		fmt.Fprintf(&b, ":%d", e.Column)
	}
	fmt.Fprintf(&b, ": %s", e.Detail)
	if e.Remedy != "" {
		fmt.Fprintf(&b, " (%s)", e.Remedy)
	}
	return b.String()
}

// Unwrap returns core.ErrInvalidPolicy.
func (e *Error) Unwrap() error { return core.ErrInvalidPolicy }

// printable returns a file name that acts on no terminal: as it is if it is plain
// text, else quoted.
func printable(name string) string {
	if quoted := fmt.Sprintf("%q", name); quoted != `"`+name+`"` {
		return quoted
	}
	return name
}
