package main

import (
	"bufio"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// modulePath is what package patterns of the list are relative to.
const modulePath = "github.com/pinfold/pinfold"

// entry is one line of the list of tests that must run.
type entry struct {
	line      int
	pkg, test string // patterns of path.Match
	subtests  bool   // test ended in /...
}

// readList parses the list and refuses what it does not understand: an entry that can match nothing guards nothing.
func readList(name string, r io.Reader) ([]entry, error) {
	var entries []entry
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(text)
		if len(fields) == 0 {
			continue
		}
		if len(fields) != 2 {
			return nil, fmt.Errorf("%s:%d: want a package and a test, got %d fields", name, n, len(fields))
		}
		e := entry{line: n, pkg: fields[0]}
		e.test, e.subtests = strings.CutSuffix(fields[1], "/...")
		for _, pattern := range []string{e.pkg, e.test} {
			if _, err := path.Match(pattern, ""); err != nil {
				return nil, fmt.Errorf("%s:%d: %q: %w", name, n, pattern, err)
			}
		}
		entries = append(entries, e)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return entries, nil
}

// covers tells whether the entry speaks of a test. readList has checked the patterns, so path.Match can't fail.
func (e entry) covers(id testID) bool {
	pkg := "."
	if id.pkg != modulePath {
		relative, within := strings.CutPrefix(id.pkg, modulePath+"/")
		if !within {
			return false
		}
		pkg = relative
	}
	if ok, _ := path.Match(e.pkg, pkg); !ok {
		return false
	}
	test := id.test
	if e.subtests {
		// Compare as many elements of the name as the pattern has, so that the rest may be anything.
		elements := strings.Split(test, "/")
		test = strings.Join(elements[:min(len(elements), strings.Count(e.test, "/")+1)], "/")
	}
	ok, _ := path.Match(e.test, test)
	return ok
}

// violations holds the results of a run against the list and says, for each entry that was not met, why.
func (j *journal) violations(name string, entries []entry) []string {
	var found []string
	for _, e := range entries {
		at := fmt.Sprintf("%s:%d: %s %s", name, e.line, e.pkg, e.test)
		if e.subtests {
			at += "/..."
		}
		var reasons []string
		matched := false
		for id, result := range j.results {
			if !e.covers(id) {
				continue
			}
			matched = true
			switch result {
			case skipped:
				reasons = append(reasons, fmt.Sprintf("%s: %s %s was skipped:\n\t%s", at, id.pkg, id.test, j.reasons[id]))
			case failed, unfinished:
				reasons = append(reasons, fmt.Sprintf("%s: %s %s did not pass", at, id.pkg, id.test))
			}
		}
		if !matched {
			reasons = append(reasons, at+": no such test was run")
		}
		slices.Sort(reasons)
		found = append(found, reasons...)
	}
	return found
}
