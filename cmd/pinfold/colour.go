package main

import (
	"os"

	"golang.org/x/term"

	"github.com/pinfold/pinfold/cmd/pinfold/internal/checkup"
	"github.com/pinfold/pinfold/core"
)

// style returns how levels are marked in what is written to f: in colour if it is
// a terminal and nobody objects (no-color.org).
func style(f *os.File) checkup.Style {
	if os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" || !term.IsTerminal(int(f.Fd())) {
		return checkup.Plain
	}
	colours := map[core.Level]string{core.Enforced: "32", core.Partial: "33", core.Unsupported: "31"} // green, yellow, red
	return func(level core.Level, word string) string {
		return "\x1b[" + colours[level] + "m" + word + "\x1b[0m"
	}
}
