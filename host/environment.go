package host

import (
	"os"
	"slices"
	"strings"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/core/lifeline"
	"github.com/pinfold/pinfold/core/wire"
)

// environment returns the variables that a policy lets through of the host's,
// and the names of those that it keeps back.
func environment(p core.EnvironmentPolicy, host []string) (env, withheld []string) {
	for _, pair := range host {
		name, _, _ := strings.Cut(pair, "=")
		switch {
		case name == "" || ofProtocol(name):
		case p.InheritAll || passes(p.Pass, name):
			env = append(env, pair)
		default:
			withheld = append(withheld, name)
		}
	}
	for _, pair := range p.Set {
		env = set(env, pair)
	}
	slices.Sort(withheld)
	return env, withheld
}

// set adds a NAME=VALUE pair, in place of an earlier one of the name.
func set(env []string, pair string) []string {
	name, _, _ := strings.Cut(pair, "=")
	env = slices.DeleteFunc(env, func(other string) bool { return strings.HasPrefix(other, name+"=") })
	return append(env, pair)
}

func passes(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		prefix, wild := strings.CutSuffix(pattern, "*")
		return pattern == name || wild && strings.HasPrefix(name, prefix)
	})
}

// ofProtocol reports whether a variable belongs to the plugin protocol: it would
// tell a command how to speak to a backend, or make a host application that runs
// inside believe that it is one.
func ofProtocol(name string) bool {
	return name == wire.CookieKey || name == lifeline.EnvKey || strings.HasPrefix(name, "PLUGIN_")
}

func hostEnvironment() []string { return os.Environ() }
