package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// testID names one test of one package.
type testID struct{ pkg, test string }

// outcome is how a test ended. A larger one replaces a smaller one when a test was run more than once.
type outcome int

const (
	unfinished outcome = iota // started, with no result: its process died or hung
	skipped
	passed
	failed
)

// line is one piece of output and the test that wrote it, "" for the package itself.
type line struct{ test, text string }

// openPackage is a package whose tests are running.
type openPackage struct {
	lines   []line
	results map[string]outcome
}

// journal turns events into the log and remembers how every test ended. It is used by one goroutine.
type journal struct {
	out      io.Writer
	open     map[string]*openPackage
	builds   map[string][]string // build output by import path, until a package reports the failure
	results  map[testID]outcome
	reasons  map[testID]string // why a test skipped
	packages int
	failures []string
}

func newJournal(out io.Writer) *journal {
	return &journal{
		out:     out,
		open:    map[string]*openPackage{},
		builds:  map[string][]string{},
		results: map[testID]outcome{},
		reasons: map[testID]string{},
	}
}

// handle takes the next event. Actions that it does not know carry nothing for the log.
func (j *journal) handle(e event) {
	switch e.Action {
	case "build-output":
		j.builds[e.ImportPath] = append(j.builds[e.ImportPath], e.Output)
	case "start", "run":
		p := j.pkg(e.Package)
		if e.Test != "" {
			p.results[e.Test] = unfinished
		}
	case "output":
		p := j.pkg(e.Package)
		p.lines = append(p.lines, line{e.Test, e.Output})
	case "pass", "fail", "skip":
		ended := map[string]outcome{"pass": passed, "fail": failed, "skip": skipped}[e.Action]
		if e.Test != "" {
			j.pkg(e.Package).results[e.Test] = ended
			return
		}
		j.closePackage(e, ended)
	}
}

func (j *journal) pkg(name string) *openPackage {
	p := j.open[name]
	if p == nil {
		p = &openPackage{results: map[string]outcome{}}
		j.open[name] = p
	}
	return p
}

// closePackage prints what there is to say about a package and files its results.
func (j *journal) closePackage(e event, ended outcome) {
	p := j.pkg(e.Package)
	delete(j.open, e.Package)
	j.packages++

	for _, text := range j.builds[e.FailedBuild] {
		j.print(text)
	}
	delete(j.builds, e.FailedBuild)
	j.printReasons(e.Package, p)
	speaker := ""
	for _, l := range p.lines {
		if !p.shows(l) {
			continue
		}
		if l.test != "" && l.test != speaker && !strings.HasPrefix(strings.TrimSpace(l.text), "--- FAIL: ") {
			speaker = l.test
			j.print("=== " + speaker + "\n") // tests in parallel take turns, line by line
		}
		j.print(l.text)
	}

	named := false
	for test, result := range p.results {
		id := testID{e.Package, test}
		j.results[id] = max(j.results[id], result)
		if result == failed || result == unfinished {
			named = true
			j.failures = append(j.failures, e.Package+" "+test)
		}
	}
	if ended == failed && !named {
		j.failures = append(j.failures, e.Package)
	}
}

// shows tells whether the log has a place for a line. Of the package's own lines the bare verdict PASS or FAIL is left out,
// which the closing line repeats.
func (p *openPackage) shows(l line) bool {
	if l.test == "" {
		bare := strings.TrimSpace(l.text)
		return bare != "PASS" && bare != "FAIL"
	}
	if isFraming(l.text) {
		return false
	}
	result := p.results[l.test]
	return result == failed || result == unfinished
}

// isFraming recognises the lines with which the testing package announces a test's progress.
func isFraming(text string) bool {
	for _, prefix := range []string{"=== RUN ", "=== PAUSE ", "=== CONT ", "=== NAME "} {
		if strings.HasPrefix(text, prefix) {
			return true
		}
	}
	return false
}

// printReasons prints why tests of p skipped, and keeps it for the verdict on the list.
func (j *journal) printReasons(pkg string, p *openPackage) {
	said := map[string][]string{}
	var order []string
	for _, l := range p.lines {
		if l.test == "" || p.results[l.test] != skipped || isFraming(l.text) {
			continue
		}
		text := strings.TrimSpace(l.text)
		if text == "" || strings.HasPrefix(text, "--- SKIP: ") {
			continue
		}
		if said[l.test] == nil {
			order = append(order, l.test)
		}
		said[l.test] = append(said[l.test], text)
	}
	for test, result := range p.results {
		if result == skipped && said[test] == nil {
			order = append(order, test)
			said[test] = []string{"(no reason given)"}
		}
	}
	slices.Sort(order)
	for _, test := range order {
		reason := strings.Join(said[test], "\n\t")
		j.reasons[testID{pkg, test}] = reason
		j.print(fmt.Sprintf("skip\t%s\t%s\n\t%s\n", pkg, test, reason))
	}
}

func (j *journal) print(text string) { fmt.Fprint(j.out, text) }

// finish closes packages that never reported a result, prints the totals, and tells whether everything passed.
func (j *journal) finish() bool {
	var cut []string
	for name := range j.open {
		cut = append(cut, name)
	}
	slices.Sort(cut)
	for _, name := range cut {
		j.closePackage(event{Package: name}, failed)
		j.print(fmt.Sprintf("FAIL\t%s [no result: the output of go test ends early]\n", name))
	}
	// A failed build that no package claimed, such as one outside the packages under test.
	for _, text := range j.builds {
		j.print(strings.Join(text, ""))
	}

	count := map[outcome]int{}
	for _, result := range j.results {
		count[result]++
	}
	j.print(fmt.Sprintf("%d packages: %d tests passed, %d failed, %d skipped\n",
		j.packages, count[passed], count[failed]+count[unfinished], count[skipped]))
	if j.packages == 0 {
		j.failures = append(j.failures, "no package reported a result")
	}
	slices.Sort(j.failures)
	for _, failure := range slices.Compact(j.failures) {
		j.print("FAIL: " + failure + "\n")
	}
	return len(j.failures) == 0
}
