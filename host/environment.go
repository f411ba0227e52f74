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

// set adds a NAME=VALUE pair, in place of an earlier one of the name. It changes
// env's elements.
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

// protocolVariables belong to the plugin protocol, those of go-plugin among them.
// They would tell a command how to speak to a backend, or make a host application
// that runs inside believe that it is one.
var protocolVariables = []string{
	wire.CookieKey, wire.LogLevelKey, lifeline.EnvKey,
	"PLUGIN_MIN_PORT", "PLUGIN_MAX_PORT", "PLUGIN_PROTOCOL_VERSIONS", "PLUGIN_CLIENT_CERT",
	"PLUGIN_UNIX_SOCKET_DIR", "PLUGIN_UNIX_SOCKET_GROUP", "PLUGIN_MULTIPLEX_GRPC",
}

func ofProtocol(name string) bool { return slices.Contains(protocolVariables, name) }

func hostEnvironment() []string { return os.Environ() }
