//go:build linux

package landlock

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/pinfold/pinfold/core"
)

// ruleText says a path rule in the words of a policy: "read+write /srv".
func ruleText(r core.PathRule) string {
	text := accessText(r.Access) + " " + pathText(r.Path)
	if r.Deny {
		return "deny " + text
	}
	return text
}

func accessText(a core.Access) string {
	var names []string
	for _, n := range []struct {
		bit  core.Access
		name string
	}{{core.Read, "read"}, {core.Write, "write"}, {core.Execute, "execute"}} {
		if a&n.bit != 0 {
			names = append(names, n.name)
		}
	}
	return strings.Join(names, "+")
}

// dimensionOf is the dimension that a finding about a rule belongs to: that of the
// rule's first access, in the order read, write, execute.
func dimensionOf(a core.Access) core.Dimension {
	switch {
	case a&core.Read != 0:
		return core.FSRead
	case a&core.Write != 0:
		return core.FSWrite
	}
	return core.FSExecute
}

// pathText shows a path so that it cannot be mistaken for anything else around it
// nor act on a terminal: as it is if it is plain, else quoted.
func pathText(p string) string {
	if plainPath(p) {
		return p
	}
	for _, c := range p {
		if c == unicode.ReplacementChar || c == '"' || c == '\\' || !unicode.IsGraphic(c) || unicode.IsSpace(c) && c != ' ' {
			return strconv.QuoteToASCII(p)
		}
	}
	if strings.ContainsAny(p, " ,;:()") {
		return strconv.Quote(p)
	}
	return p
}

// plainPath reports whether a path has only letters, digits and the signs that
// names usually have, in ASCII.
func plainPath(p string) bool {
	for i := range len(p) {
		switch c := p[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case c == '/', c == '.', c == '-', c == '_', c == '+':
		default:
			return false
		}
	}
	return true
}
