package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/host/backend"
)

func newBackend() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backend NAME",
		Short: "Serve an embedded backend, or describe any",
		Long: `Serve one of the backends that are part of this program to the host application
that started it. A person has no use for that: see "pinfold backend describe".

P` + embeddedNames()[1:] + ".",
		Example: "  pinfold backend describe landlock\n  pinfold backend describe ./my-backend --json",
		Args:    one("backend"),
		// A backend that is there has been served before the command line is read.
		RunE: func(_ *cobra.Command, args []string) error { return &exit{statusUsage, noBackend(args[0])} },
	}
	cmd.AddCommand(newDescribe())
	return cmd
}

// service is what one backend says of one of its services.
type service struct {
	Service     string            `json:"service"`
	Description *core.Description `json:"description"`
	Capability  *core.Capability  `json:"capability,omitempty"`
}

func newDescribe() *cobra.Command {
	var asJSON, probe bool
	cmd := &cobra.Command{
		Use:                   "describe [--json] [--probe] NAME|PATH",
		Short:                 "Start a backend and show what it says of itself",
		Example:               "  pinfold backend describe cgroup --probe\n  pinfold backend describe ./my-backend --json",
		Args:                  one("backend"),
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			found, services, err := describe(cmd.Context(), args[0], probe)
			if err != nil {
				return &exit{statusProblem, err}
			}
			if asJSON {
				return writeJSON(cmd, struct {
					Program  string    `json:"program"`
					Services []service `json:"services"`
				}{found.String(), services})
			}
			return writeServices(cmd.OutOrStdout(), found, services)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&probe, "probe", false, "also ask what it can enforce on this machine")
	return cmd
}

func describe(ctx context.Context, name string, probe bool) (backend.Program, []service, error) {
	self, err := os.Executable()
	if err != nil {
		return backend.Program{}, nil, err
	}
	found, err := program(name, self)
	if err != nil {
		return found, nil, err
	}
	sockets, err := os.MkdirTemp("", "pinfold-")
	if err != nil {
		return found, nil, err
	}
	defer os.RemoveAll(sockets)
	s := backend.New(found, sockets, logger(false))
	defer s.Close()
	var services []service
	for _, candidate := range []struct {
		name    string
		backend core.Backend
	}{{"confiner", s.Confiner()}, {"tracker", s.Tracker()}} {
		description, err := candidate.backend.Describe(ctx)
		if errors.Is(err, core.ErrUnsupported) {
			continue
		}
		if err != nil {
			return found, nil, err
		}
		entry := service{Service: candidate.name, Description: description}
		if probe {
			if entry.Capability, err = candidate.backend.Probe(ctx); err != nil {
				return found, nil, err
			}
		}
		services = append(services, entry)
	}
	if len(services) == 0 {
		return found, nil, fmt.Errorf("%s is neither a confiner nor a tracker", found)
	}
	return found, services, nil
}

func writeServices(w io.Writer, found backend.Program, services []service) error {
	fmt.Fprintln(w, found)
	for _, s := range services {
		d := s.Description
		fmt.Fprintf(w, "\n%s %s %s, %s\n", s.Service, printable(d.Name), printable(d.Version), printable(d.Platform))
		for _, feature := range d.Features {
			fmt.Fprintf(w, "  feature %s\n", printable(feature))
		}
		if s.Capability == nil {
			continue
		}
		for _, f := range s.Capability.Findings {
			fmt.Fprintln(w, finding(f, "  "))
		}
		for _, fact := range s.Capability.Facts {
			fmt.Fprintf(w, "  %s: %s\n", printable(fact.Name), printable(fact.Value))
		}
	}
	return nil
}
