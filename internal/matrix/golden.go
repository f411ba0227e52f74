package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/pinfold/pinfold/internal/matrix/trial"
)

// goldenFile holds a block for each machine of the matrix, for people to read and for the tables to be made from.
const goldenFile = "internal/matrix/testdata/matrix.txt"

// block writes a column: its name, and a line for each thing that there is to say.
func (c column) block() string {
	var out strings.Builder
	fmt.Fprintln(&out, c.machine)
	line := func(key, value string) {
		if value != "" {
			fmt.Fprintf(&out, "\t%-12s %s\n", key, value)
		}
	}
	line("default", c.standard)
	line("best-effort", c.bestEffort)
	line("tracked", c.trackedBy)
	for _, level := range levels {
		var at []string
		for _, d := range trial.Dimensions {
			if c.levels[d] == level {
				at = append(at, d)
			}
		}
		line(level, strings.Join(at, " "))
	}
	line("held", strings.Join(c.held, " "))
	line("succeeded", strings.Join(c.succeeded, " "))
	line("untried", strings.Join(c.untried, " "))
	for _, d := range c.disagrees {
		line("disagrees", d)
	}
	return out.String()
}

// parseGolden reads what block wrote.
func parseGolden(text string) ([]column, error) {
	var columns []column
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		entry, ok := strings.CutPrefix(line, "\t")
		switch {
		case line == "":
		case !ok:
			columns = append(columns, column{machine: line, levels: map[string]string{}})
		case len(columns) == 0:
			return nil, fmt.Errorf("%q belongs to no machine", line)
		default:
			key, value, _ := strings.Cut(entry, " ")
			if err := columns[len(columns)-1].set(key, strings.TrimSpace(value)); err != nil {
				return nil, err
			}
		}
	}
	return columns, nil
}

func (c *column) set(key, value string) error {
	switch key {
	case "default":
		c.standard = value
	case "best-effort":
		c.bestEffort = value
	case "tracked":
		c.trackedBy = value
	case enforced, partial, unsupported:
		for _, d := range strings.Fields(value) {
			c.levels[d] = key
		}
	case "held":
		c.held = strings.Fields(value)
	case "succeeded":
		c.succeeded = strings.Fields(value)
	case "untried":
		c.untried = strings.Fields(value)
	case "disagrees":
		c.disagrees = append(c.disagrees, value)
	default:
		return fmt.Errorf("%s: %q is none of the keys", c.machine, key)
	}
	return nil
}

// readGolden returns nothing if there is no file yet.
func readGolden(path string) ([]column, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	columns, err := parseGolden(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return columns, nil
}

func writeGolden(path string, columns []column) error {
	var blocks []string
	for _, c := range columns {
		blocks = append(blocks, c.block())
	}
	return os.WriteFile(path, []byte(strings.Join(blocks, "\n")), 0o644)
}

// merge puts what was seen in the place of what was there before, and drops machines that are not in the matrix any more.
func merge(before, seen []column) []column {
	merged := slices.Clone(seen)
	for _, c := range before {
		if order(c.machine) >= 0 && find(seen, c.machine) == nil {
			merged = append(merged, c)
		}
	}
	sortColumns(merged)
	return merged
}

func sortColumns(columns []column) {
	slices.SortFunc(columns, func(a, b column) int { return order(a.machine) - order(b.machine) })
}

func find(columns []column, machine string) *column {
	for i := range columns {
		if columns[i].machine == machine {
			return &columns[i]
		}
	}
	return nil
}

// compare says where what was seen is not what the golden file has: - for what it has, + for what was seen.
func compare(golden, seen []column) string {
	var out strings.Builder
	for _, c := range seen {
		want := ""
		if g := find(golden, c.machine); g != nil {
			want = g.block()
		}
		got := c.block()
		if got == want {
			continue
		}
		fmt.Fprintln(&out, c.machine)
		for _, side := range []struct{ sign, has, lacks string }{{"-", want, got}, {"+", got, want}} {
			lacks := strings.Split(side.lacks, "\n")
			for line := range strings.Lines(side.has) {
				if !slices.Contains(lacks, strings.TrimSuffix(line, "\n")) {
					fmt.Fprintf(&out, "  %s %s", side.sign, strings.TrimPrefix(line, "\t"))
				}
			}
		}
	}
	return out.String()
}
