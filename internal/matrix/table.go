package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pinfold/pinfold/internal/matrix/trial"
)

// legend explains the cells of a table.
const legend = "`pinfold doctor` says: ● enforced, ◐ in part, ○ not. A rogue command found: ✓ every attempt failed that succeeds " +
	"without Pinfold, ✗ not every one; no mark: there was none to make."

var symbols = map[string]string{enforced: "●", partial: "◐", unsupported: "○"}

// table writes columns as Markdown, a row for each dimension, with the reasons of refusals below it.
func table(columns []column) string {
	var out strings.Builder
	row := func(head string, cell func(column) string) {
		cells := []string{head}
		for _, c := range columns {
			cells = append(cells, cell(c))
		}
		fmt.Fprintf(&out, "| %s |\n", strings.Join(cells, " | "))
	}
	row("Linux", func(c column) string { return strings.Replace(c.machine, ", ", " ", 1) })
	fmt.Fprintf(&out, "|---|%s\n", strings.Repeat(":-:|", len(columns)))
	var notes []string
	row("**default preset**", func(c column) string {
		reason, ok := strings.CutPrefix(c.standard, refused)
		if !ok {
			return c.standard
		}
		return "refused " + superscript(note(&notes, reason+afterBestEffort(c)))
	})
	for _, d := range trial.Dimensions {
		row(d, func(c column) string { return strings.TrimSpace(symbols[c.levels[d]] + " " + c.verdict(d)) })
	}
	fmt.Fprintf(&out, "\n%s\n", legend)
	for i, n := range notes {
		fmt.Fprintf(&out, "\n%s %s\n", superscript(i+1), n)
	}
	return out.String()
}

// verdict says how the attempts on a dimension ended.
func (c column) verdict(dimension string) string {
	verdict := ""
	for _, a := range trial.Attempts {
		switch {
		case a.Dimension != dimension:
		case slices.Contains(c.succeeded, a.Name):
			return "✗"
		case slices.Contains(c.held, a.Name):
			verdict = "✓"
		}
	}
	return verdict
}

// afterBestEffort says what the attempts of a column rest on where the default preset is refused.
func afterBestEffort(c column) string {
	if c.bestEffort == runs {
		return ". The attempts were made with `--best-effort`"
	}
	return ". `--best-effort` is refused too"
}

// note returns the number of a note, from 1, and adds it if it is new.
func note(notes *[]string, text string) int {
	text += "."
	if at := slices.Index(*notes, text); at >= 0 {
		return at + 1
	}
	*notes = append(*notes, text)
	return len(*notes)
}

func superscript(n int) string {
	digits := []rune("⁰¹²³⁴⁵⁶⁷⁸⁹")
	var out []rune
	for _, digit := range fmt.Sprint(n) {
		out = append(out, digits[digit-'0'])
	}
	return string(out)
}
