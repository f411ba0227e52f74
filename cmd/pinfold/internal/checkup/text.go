package checkup

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pinfold/pinfold/core"
)

// width is that of a terminal that nobody has widened.
const width = 80

// A Style marks up a word for a terminal by its level, or returns it as it is.
type Style func(level core.Level, word string) string

// Plain is the style without marks.
func Plain(_ core.Level, word string) string { return word }

// Text words the result for a screen of 80 columns. Facts are in it if they are
// asked for.
func (r *Result) Text(style Style, facts bool) string {
	var b strings.Builder
	title := []string{"pinfold " + r.Pinfold, r.Platform}
	for _, backend := range r.Backends {
		title = append(title, backend.Name+" "+backend.Version)
	}
	b.WriteString(strings.Join(title, ", ") + "\n\n")
	r.table(&b, style)
	r.gaps(&b)
	for _, problem := range r.Problems {
		b.WriteString("\n")
		paragraph(&b, "problem: ", problem)
	}
	if facts {
		for _, backend := range r.Backends {
			fmt.Fprintf(&b, "\n%s:\n", backend.Name)
			for _, fact := range backend.Facts {
				paragraph(&b, "  "+fact.Name+": ", fact.Value)
			}
		}
	}
	r.Verdict.text(&b, style)
	return b.String()
}

func (r *Result) table(b *strings.Builder, style Style) {
	for _, f := range r.Findings {
		mark := " "
		if slices.Contains(r.Verdict.Require, f.Dimension) {
			mark = "*"
		}
		level := fmt.Sprintf("%-11s", f.Level)
		line := fmt.Sprintf("%s %-11s  %s", mark, f.Dimension, level)
		line = strings.TrimRight(line+"  "+cut(cmp.Or(f.Mechanism, f.Observed, f.Gap), width-len(line)-2), " ")
		b.WriteString(strings.Replace(line, level, style(f.Level, level), 1) + "\n")
	}
	b.WriteString("* required by the preset " + r.Verdict.Preset + "\n")
}

// gaps explains what is not wholly enforced, unless the table said all there is.
func (r *Result) gaps(b *strings.Builder) {
	for _, f := range r.Findings {
		if f.Level == core.Enforced || f == (core.Finding{Dimension: f.Dimension, Level: f.Level, Gap: unanswered}) {
			continue
		}
		b.WriteString("\n")
		paragraph(b, string(f.Dimension)+": ", f.Gap)
		if f.Required != "" {
			paragraph(b, "  it takes ", f.Required+here(f))
		}
		if f.Remedy != "" {
			paragraph(b, "  remedy: ", f.Remedy)
		}
	}
}

func here(f core.Finding) string {
	if f.Observed == "" {
		return ""
	}
	return "; here: " + f.Observed
}

func (v *Verdict) text(b *strings.Builder, style Style) {
	b.WriteString("\n")
	if v.Runs {
		b.WriteString(style(core.Enforced, "pinfold run works here") + ": all that " + v.Preset + " requires is enforced.\n")
		return
	}
	b.WriteString(style(core.Unsupported, "pinfold run refuses") + " " + v.Preset + " here:\n")
	if len(v.Missing) == 0 {
		paragraph(b, "  ", v.Problem)
	}
	for _, f := range v.Missing {
		about := string(f.Dimension)
		if f.Rule != "" {
			about += " (" + f.Rule + ")"
		}
		paragraph(b, "  "+about+" is "+f.Level.String()+": ", f.Gap)
	}
	if len(v.Missing) > 0 {
		b.WriteString("pinfold run --best-effort would go on without.\n")
	}
}

// paragraph writes text after a heading, wrapped, further lines indented.
func paragraph(b *strings.Builder, heading, text string) {
	indent := len(heading) - len(strings.TrimLeft(heading, " ")) + 2
	line := strings.TrimRight(heading, " ")
	empty := strings.TrimSpace(line) == ""
	if empty {
		line = heading
	}
	for _, word := range strings.Fields(text) {
		switch {
		case empty:
			line += word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
			b.WriteString(line + "\n")
			line = strings.Repeat(" ", indent) + word
		default:
			line += " " + word
		}
		empty = false
	}
	b.WriteString(line + "\n")
}

func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}
