package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/pinfold/pinfold/internal/matrix/trial"
)

// The table of README.md stands between two lines.
const (
	tableBegin = "<!-- make matrix GOLDEN=update writes from here"
	tableEnd   = "<!-- to here -->"
)

// pages are the files with tables, by path, as golden makes them out of what they were before.
var pages = map[string]func(before string, golden []column) (string, error){
	"README.md":      readme,
	"docs/matrix.md": func(_ string, golden []column) (string, error) { return wholeMatrix(golden), nil },
}

// writePages brings the tables of the repository at root up to date with the golden file.
func writePages(root string, golden []column) error {
	for name, render := range pages {
		path := filepath.Join(root, name)
		before, err := os.ReadFile(path)
		if err != nil && !os.IsNotExist(err) {
			return err
		}
		after, err := render(string(before), golden)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if after == string(before) {
			continue
		}
		if err := os.WriteFile(path, []byte(after), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// readme puts the table of the machines that are shown between the two lines.
func readme(before string, golden []column) (string, error) {
	head, rest, found := strings.Cut(before, tableBegin)
	mark, rest, _ := strings.Cut(rest, "\n")
	_, end, closed := strings.Cut(rest, tableEnd)
	if !found || !closed {
		return "", fmt.Errorf("there are no lines %q and %q for the table to stand between", tableBegin, tableEnd)
	}
	var shown []column
	for _, m := range machines(false, regexp.MustCompile("")) {
		if c := find(golden, m.name()); c != nil {
			shown = append(shown, *c)
		}
	}
	return head + tableBegin + mark + "\n\n" + table(shown) + "\n" + tableEnd + end, nil
}

const introduction = `# What each machine can enforce

Written by ` + "`make matrix-all GOLDEN=update`" + `: Debian's kernels in virtual machines, each started in several ways, and on each
pinfold as root, as a normal user in a login session ("session"), in a service of that user's service manager ("user"), and in a
service of the system without any of these ("service"). On each machine ` + "`pinfold doctor`" + ` says what it can enforce, and a rogue
command makes these attempts, as a control and then under the default preset, or with ` + "`--best-effort`" + ` where that is
refused:

| attempt | dimension | what |
|---|---|---|
`

// wholeMatrix is the page with everything: a table for each way to start the kernels.
func wholeMatrix(golden []column) string {
	var out strings.Builder
	out.WriteString(introduction)
	for _, a := range trial.Attempts {
		fmt.Fprintf(&out, "| %s | %s | %s |\n", a.Name, a.Dimension, a.What)
	}
	out.WriteString("\n" + tables(golden))
	return out.String()
}

// tables writes a table for each way to start the kernels, under a heading.
func tables(columns []column) string {
	var out []string
	for _, lsm := range []string{withLandlock, withoutLandlock} {
		for _, cgroups := range []string{pure, hybrid, legacy} {
			var part []column
			for _, m := range machines(true, regexp.MustCompile("")) {
				c := find(columns, m.name())
				if c == nil || m.lsm != lsm || m.cgroups != cgroups {
					continue
				}
				short := *c
				short.machine = machine{kernel: m.kernel, user: m.user}.name()
				part = append(part, short)
			}
			if len(part) > 0 {
				out = append(out, "## "+heading(lsm, cgroups)+"\n\n"+table(part))
			}
		}
	}
	return strings.Join(out, "\n")
}

func heading(lsm, cgroups string) string {
	words := map[string]string{pure: "pure cgroup v2", hybrid: "hybrid cgroups (v2 beside v1)", legacy: "no cgroup v2"}
	if lsm == withoutLandlock {
		return "Landlock not in `lsm=`, " + words[cgroups]
	}
	return "Landlock where the kernel has it, " + words[cgroups]
}
