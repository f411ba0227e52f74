package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/pinfold/pinfold/cmd/pinfold/internal/grants"
)

// runFlags are the flags of pinfold run.
type runFlags struct {
	grants.Flags
	Timeout  time.Duration
	Report   string
	Quiet    bool
	Verbose  bool
	Backends backendFlags
}

func newRun() *cobra.Command {
	f := &runFlags{}
	cmd := &cobra.Command{
		Use:   "run [flags] -- CMD [ARG...]",
		Short: "Run a command, confined, and kill what it leaves running",
		Long: `Run a command confined as a policy says, and kill every process of it at the end.

The command reads and writes the terminal or pipes of pinfold itself, and is part
of the same job: Ctrl-C, Ctrl-Z and fg work as without pinfold. It starts in the
current directory, or in the workspace if that is elsewhere.

Without flags it may read the system, read, write and execute in the workspace,
write a temporary directory of its own ($TMPDIR), and reach no network. Relative
paths in flags are below the current directory.

Exit status:
  the command's own     the command ended by itself
  128 + n               signal n ended the command
  124                   --timeout: the time was up, and everything was killed
  125                   pinfold failed: bad flags, a policy that cannot be enforced,
                        or a report that could not be written
  126, 127              the command cannot be executed, or does not exist`,
		Example: `  pinfold run -- make test
  pinfold run --preset read-only -- grep -r TODO .
  pinfold run --net all --write ~/.npm -- npm ci
  pinfold run --connect 443 --env GITHUB_TOKEN -- gh pr list
  pinfold run --policy build.toml --timeout 10m --report report.json -- ./build.sh`,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd, args); err != nil {
				return &exit{statusFailed, err}
			}
			return run(f, args)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.SetInterspersed(false) // what follows CMD is the command's
	flags.StringVar(&f.Preset, "preset", "", "start from `NAME`: read-only, workspace-write (the default) or unrestricted")
	flags.StringVar(&f.File, "policy", "", "start from a policy `FILE.toml`")
	flags.StringVar(&f.Workspace, "workspace", ".", "the `DIR` that the presets are about")
	flags.StringArrayVar(&f.Read, "read", nil, "grant reading `PATH` and below (repeatable, as are the next three)")
	flags.StringArrayVar(&f.Write, "write", nil, "grant reading and writing `PATH` and below")
	flags.StringArrayVar(&f.Exec, "exec", nil, "grant reading and executing `PATH` and below")
	flags.StringArrayVar(&f.Deny, "deny", nil, "deny `PATH` and below, whatever grants it")
	flags.StringVar(&f.Net, "net", "", "open or close the network: `none|all`")
	flags.StringArrayVar(&f.Connect, "connect", nil, "grant connecting to TCP `PORT` of any host, and nothing else (repeatable)")
	flags.StringArrayVar(&f.Bind, "bind", nil, "grant listening on TCP `PORT`, 0 for any free one (repeatable)")
	flags.StringArrayVar(&f.Env, "env", nil, "pass or set an environment variable: `NAME[=VALUE]` (repeatable)")
	flags.StringArrayVar(&f.Require, "require", nil, "start nothing unless `DIMENSION` is enforced (repeatable)")
	flags.BoolVar(&f.BestEffort, "best-effort", false, "start although something required cannot be enforced")
	flags.DurationVar(&f.Timeout, "timeout", 0, "kill everything after `D`, such as 90s or 1h30m")
	flags.StringVar(&f.Report, "report", "", "write a JSON report to `FILE` at the end, - for standard output")
	flags.BoolVarP(&f.Quiet, "quiet", "q", false, "say nothing but errors")
	flags.BoolVarP(&f.Verbose, "verbose", "v", false, "show what is enforced and how, and the backends' logs")
	f.Backends.add(cmd)
	return cmd
}

// check refuses what flags alone can tell.
func (f *runFlags) check(cmd *cobra.Command, args []string) error {
	if len(args) == 0 || args[0] == "" {
		return errors.New("no command is given\ntry: pinfold run -- CMD [ARG...]")
	}
	// An empty value is most likely a variable that is not set. The default in its
	// place might be another policy than the one that was meant.
	for _, name := range []string{"preset", "policy", "workspace", "net", "report", "confiner", "tracker"} {
		if flag := cmd.Flag(name); flag.Changed && flag.Value.String() == "" {
			return fmt.Errorf("--%s is given an empty value", name)
		}
	}
	if cmd.Flag("timeout").Changed && f.Timeout <= 0 {
		return fmt.Errorf("--timeout %v: it must be more than 0", f.Timeout)
	}
	if f.Quiet && f.Verbose {
		return errors.New("--quiet and --verbose exclude each other")
	}
	return nil
}
