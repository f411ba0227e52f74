package main

import (
	"fmt"
	"strings"

	"github.com/pinfold/pinfold/core"
)

// finding words a finding in indented lines: what, by what mechanism, what is
// there and what it takes, and the remedy.
func finding(f core.Finding, indent string) string {
	var b strings.Builder
	line := func(label, text string) {
		if text != "" {
			fmt.Fprintf(&b, "\n%s  %-10s %s", indent, label, text)
		}
	}
	fmt.Fprintf(&b, "%s%s: %s", indent, f.Dimension, f.Level)
	line("rule", f.Rule)
	line("gap", f.Gap)
	line("mechanism", f.Mechanism)
	line("here", f.Observed)
	line("it takes", f.Required)
	line("remedy", f.Remedy)
	return b.String()
}

// processes words a list of processes: "sleep 4242, python3 4243".
func processes(list []core.Process, more int) string {
	var words []string
	for _, p := range list {
		words = append(words, fmt.Sprintf("%s %d", printable(p.Command), p.PID))
	}
	if more > 0 {
		words = append(words, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(words, ", ")
}

// printable shows text that a confined process chose so that it cannot act on the
// terminal.
func printable(s string) string {
	quoted := fmt.Sprintf("%q", s)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// count words a number of things.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
