package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pinfold/pinfold/host"
)

// version is this program's own. Backends have theirs.
const version = "0.1.0"

// Exit statuses of pinfold itself; "run" otherwise exits as its command did.
const (
	statusProblem       = 1   // any command but run: it failed, or has bad news
	statusUsage         = 2   // any command but run: bad flags or arguments
	statusTimeout       = 124 // run: the time given by --timeout was up, as timeout(1)
	statusFailed        = 125 // run: pinfold itself failed; nothing was started, unless it says otherwise
	statusNotExecutable = 126 // run: the command cannot be executed, as env(1)
	statusNotFound      = 127 // run: the command does not exist
)

// An exit ends pinfold with a status. Err is shown, unless it is nil.
type exit struct {
	status int
	err    error
}

func (e *exit) Error() string { return fmt.Sprintf("exit status %d: %v", e.status, e.err) }

func (e *exit) Unwrap() error { return e.err }

// execute runs pinfold with its arguments and returns the exit status.
func execute(args []string) int {
	root := newRoot()
	root.SetArgs(args)
	called, err := root.ExecuteC()
	if err == nil {
		return 0
	}
	var e *exit
	if !errors.As(err, &e) {
		// From cobra: flags or arguments that make no sense.
		e = &exit{statusUsage, fmt.Errorf("%w\ntry: %s --help", err, called.CommandPath())}
		if called.Name() == "run" {
			e.status = statusFailed
		}
	}
	if e.err != nil {
		fmt.Fprintf(os.Stderr, "pinfold: %s\n", problem(e.err))
	}
	return e.status
}

// problem words an error for a person: what could not be enforced gets a
// paragraph for each finding.
func problem(err error) string {
	var unenforced *host.UnenforcedError
	if !errors.As(err, &unenforced) {
		return err.Error()
	}
	var b strings.Builder
	b.WriteString("the policy cannot be enforced here, and nothing was started")
	for _, f := range unenforced.Findings {
		b.WriteString("\n\n" + finding(f, "  "))
	}
	b.WriteString("\n\n--best-effort would go on without what is missing; pinfold doctor shows all of it")
	return b.String()
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "pinfold",
		Short: "Confine a command, and leave none of its processes behind",
		Long: `Pinfold runs a command confined to what a policy grants, and when the command has
ended finds and kills every process that it started.`,
		Example: `  pinfold run -- make test
  pinfold run --net all --write ~/.cache/pip -- pip install -r requirements.txt
  pinfold doctor`,
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		Run:           func(cmd *cobra.Command, _ []string) { cmd.Help() },
	}
	root.AddCommand(newRun(), newDoctor(), newSessions(), newKill(), newSweep(), newBackend(), newVersion())
	return root
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  pinfold version",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "pinfold", version)
			return err
		},
	}
}

// one wants exactly one argument, the name of something.
func one(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 1 && args[0] != "" {
			return nil
		}
		return fmt.Errorf("name one %s, not %d", what, len(args))
	}
}
