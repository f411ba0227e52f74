package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/pinfold/pinfold/cmd/pinfold/internal/checkup"
	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/host"
)

func newDoctor() *cobra.Command {
	var backends backendFlags
	var asJSON, verbose bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Show what this machine can enforce",
		Long: `Show for each dimension what this machine can enforce, what that rests on, and what
would mend a gap. To be sure, a session is opened under the default preset, and
closed again.

Exit status: 0 if the default preset holds here, 1 if pinfold run would refuse it.`,
		Example: "  pinfold doctor\n  pinfold doctor --json | jq .verdict",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			h, err := newHost(backends, logger(verbose))
			if err != nil {
				return &exit{statusProblem, err}
			}
			defer h.Close()
			result := examine(cmd.Context(), h)
			if asJSON {
				err = writeJSON(cmd, result)
			} else {
				_, err = fmt.Fprint(cmd.OutOrStdout(), result.Text(style(os.Stdout), verbose))
			}
			if err == nil && !result.Verdict.Runs {
				err = &exit{status: statusProblem}
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "show facts, and the backends' logs")
	backends.add(cmd)
	return cmd
}

// examine asks both backends and tries the default preset.
func examine(ctx context.Context, h *host.Host) *checkup.Result {
	result := checkup.New(version)
	if err := h.Start(); err != nil {
		result.Trouble(err)
	}
	result.Add(nil, &core.Capability{Findings: host.Findings()})
	for _, backend := range []core.Backend{h.Tracker(), h.Confiner()} {
		description, err := backend.Describe(ctx)
		if err != nil {
			result.Trouble(err)
			continue
		}
		capability, err := backend.Probe(ctx)
		if err != nil {
			result.Trouble(err)
			continue
		}
		result.Add(description, capability)
	}
	result.Complete()
	result.Conclude(try(ctx, h))
	return result
}

// try opens a session under the default preset, in an empty workspace.
func try(ctx context.Context, h *host.Host) checkup.Verdict {
	policy := core.WorkspaceWrite("")
	dir, err := os.MkdirTemp("", "pinfold-doctor-")
	if err != nil {
		return checkup.Judge(&policy, nil, err)
	}
	defer os.RemoveAll(dir)
	policy = core.WorkspaceWrite(dir)
	s, err := h.Open(ctx, policy)
	if err != nil {
		return checkup.Judge(&policy, nil, err)
	}
	enforcement := s.Enforcement()
	_, err = s.Close(ctx)
	return checkup.Judge(&policy, enforcement, err)
}

func writeJSON(cmd *cobra.Command, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n", text)
	return err
}
