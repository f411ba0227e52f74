package main

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/host"
	"github.com/pinfold/pinfold/host/backend"
)

// backendFlags choose the backends of a command.
type backendFlags struct{ Confiner, Tracker string }

func (f *backendFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.Confiner, "confiner", "", "use another confiner: `NAME|PATH`")
	f.addTracker(cmd)
}

func (f *backendFlags) addTracker(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.Tracker, "tracker", "", "use another tracker: `NAME|PATH`")
}

// newHost returns a host that takes the standard backends from this very program.
func newHost(f backendFlags, logger hclog.Logger) (*host.Host, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program, which serves the standard backends: %w", err)
	}
	for _, name := range []string{f.Confiner, f.Tracker} {
		if _, err := program(name, self); name != "" && err != nil {
			return nil, err
		}
	}
	return host.New(host.Options{Confiner: f.Confiner, Tracker: f.Tracker, Embedded: self, MoveHost: true, Logger: logger})
}

// program finds a backend by name or path: an installed one, or one of this
// program's own.
func program(name, self string) (backend.Program, error) {
	found, err := backend.Find(name)
	if err == nil && !found.IsEmbedded() || strings.ContainsRune(name, os.PathSeparator) {
		return found, err
	}
	if embedded[name] != nil {
		return backend.Embedded(self, name), nil
	}
	return backend.Program{}, noBackend(name)
}

func noBackend(name string) error {
	e := &core.Error{
		Reason: core.ErrNotFound, Stage: core.StageBackend,
		Detail: fmt.Sprintf("there is no backend %q: %s", name, embeddedNames()),
		Remedy: fmt.Sprintf("install it as pinfold-NAME into a directory of $%s, or give its path", backend.PathEnvKey),
	}
	return e
}

func embeddedNames() string {
	if len(embedded) == 0 {
		return "pinfold has none for " + runtime.GOOS + " of its own"
	}
	return "pinfold's own are " + strings.Join(slices.Sorted(maps.Keys(embedded)), " and ")
}

// logger shows the backends' logs on standard error if that is wanted.
func logger(verbose bool) hclog.Logger {
	if !verbose {
		return hclog.NewNullLogger()
	}
	return hclog.New(&hclog.LoggerOptions{Name: "pinfold", Output: os.Stderr, Level: hclog.Debug})
}
