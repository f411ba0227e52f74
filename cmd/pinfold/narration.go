package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/host"
)

// announce says before the command starts what is not enforced; with -v, what is.
func (f *runFlags) announce(s *host.Session) {
	if f.Quiet {
		return
	}
	e := s.Enforcement()
	if f.Verbose {
		fmt.Fprint(os.Stderr, explain(e, s.Listing()))
	}
	var lost []string
	for _, finding := range e.Dimensions {
		if finding.Level != core.Enforced {
			lost = append(lost, string(finding.Dimension))
		}
	}
	if len(lost) > 0 {
		fmt.Fprintf(os.Stderr, "pinfold: not wholly enforced here: %s (pinfold doctor says more)\n", strings.Join(lost, ", "))
	}
	for _, rule := range s.Policy().Filesystem.Rules {
		if missing(rule) {
			fmt.Fprintf(os.Stderr, "pinfold: %s: %q does not exist, so the rule has no effect\n", rule.Origin, rule.Path)
		}
	}
}

// missing reports whether a rule that a person wrote is about nothing, which is
// mostly a mistake.
func missing(rule core.PathRule) bool {
	if rule.Optional || rule.Origin == "preset" || rule.Origin == "session" {
		return false
	}
	_, err := os.Stat(rule.Path)
	return errors.Is(err, fs.ErrNotExist)
}

// explain words what is enforced, for -v.
func explain(e *core.Enforcement, listing string) string {
	var b strings.Builder
	for _, list := range [][]core.Finding{e.Dimensions, e.Rules} {
		for _, f := range list {
			b.WriteString(finding(f, "pinfold: ") + "\n")
		}
	}
	if listing != "" {
		b.WriteString(strings.TrimRight(listing, "\n") + "\n")
	}
	return b.String()
}

// summarize says after the session what had been left running.
func (f *runFlags) summarize(out *outcome) {
	if f.Quiet {
		return
	}
	if killed := out.TimedOut; killed != nil {
		fmt.Fprintf(os.Stderr, "pinfold: the time of %v was up: killed %s (%s)\n", f.Timeout,
			count(killed.Killed, "process", "processes"), processes(killed.Processes, killed.Killed-len(killed.Processes)))
	}
	if left := out.Left; left != nil && left.Killed > 0 {
		fmt.Fprintf(os.Stderr, "pinfold: killed %s left running (%s)\n",
			count(left.Killed, "process", "processes"), processes(left.Processes, left.Killed-len(left.Processes)))
	}
}
