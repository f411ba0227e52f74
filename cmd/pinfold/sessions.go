package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/host"
)

// withTracker runs f with a host of the chosen tracker.
func withTracker(flags backendFlags, f func(h *host.Host) error) error {
	h, err := newHost(flags, logger(false))
	if err != nil {
		return &exit{statusProblem, err}
	}
	defer h.Close()
	if err := f(h); err != nil {
		var e *exit
		if errors.As(err, &e) {
			return err
		}
		return &exit{statusProblem, err}
	}
	return nil
}

func newSessions() *cobra.Command {
	var backends backendFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "List the live sessions of this user",
		Long: `List the live sessions of this user, of every program that uses Pinfold. They are
read from the kernel alone: from the names of cgroups on Linux.`,
		Example: "  pinfold sessions\n  pinfold sessions --json | jq -r '.[].session'",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withTracker(backends, func(h *host.Host) error {
				list, err := sortedSessions(cmd.Context(), h)
				if err != nil {
					return err
				}
				if asJSON {
					return writeJSON(cmd, sessionRows(list))
				}
				return writeSessions(cmd.OutOrStdout(), sessionRows(list), time.Now())
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	backends.addTracker(cmd)
	return cmd
}

// sessionRow is a session as pinfold sessions shows it.
type sessionRow struct {
	Session core.SessionID `json:"session"`
	// Opened is when the session's id was made.
	Opened     time.Time  `json:"opened"`
	Owner      core.Owner `json:"owner"`
	OwnerAlive bool       `json:"owner_alive"`
	Detached   bool       `json:"detached"`
	Processes  int        `json:"processes"`
}

func sortedSessions(ctx context.Context, h *host.Host) ([]core.SessionStatus, error) {
	list, err := h.Tracker().Sessions(ctx)
	slices.SortFunc(list, func(a, b core.SessionStatus) int {
		return cmp.Compare(a.Handle.Session.String(), b.Handle.Session.String())
	})
	return list, err
}

func sessionRows(list []core.SessionStatus) []sessionRow {
	rows := []sessionRow{}
	for _, s := range list {
		rows = append(rows, sessionRow{s.Handle.Session, s.Handle.Session.Created(), s.Owner, s.OwnerAlive, s.Detached, s.Processes})
	}
	return rows
}

func writeSessions(w io.Writer, rows []sessionRow, now time.Time) error {
	if len(rows) == 0 {
		_, err := fmt.Fprintln(w, "no sessions")
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SESSION\tOWNER\tAGE\tPROCESSES\tNOTE")
	for _, r := range rows {
		var notes []string
		if !r.OwnerAlive {
			notes = append(notes, "owner dead")
		}
		if r.Detached {
			notes = append(notes, "detached")
		}
		fmt.Fprintf(table, "%s\t%d\t%s\t%d\t%s\n", r.Session, r.Owner.PID, age(now.Sub(r.Opened)), r.Processes, strings.Join(notes, ", "))
	}
	return table.Flush()
}

// age words a duration in its largest unit.
func age(d time.Duration) string {
	switch {
	case d < 0:
		return "?"
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

func newKill() *cobra.Command {
	var backends backendFlags
	cmd := &cobra.Command{
		Use:   "kill SESSION",
		Short: "Kill every process of a session",
		Long: `Kill every process of a session and remove the session. SESSION is an id as pinfold
sessions shows it, or the beginning of one: at least 8 characters that no other
session's id begins with.`,
		Example:               "  pinfold kill 019a2c64-5f0e-7c3b-a0f1-6f1c7d1f4a11",
		Args:                  one("session"),
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withTracker(backends, func(h *host.Host) error {
				list, err := sortedSessions(cmd.Context(), h)
				if err != nil {
					return err
				}
				session, err := choose(list, args[0])
				if err != nil {
					return err
				}
				report, err := h.Tracker().Close(cmd.Context(), session.Handle)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: killed %s%s\n", session.Handle.Session,
					count(report.Killed, "process", "processes"), inBrackets(report))
				return err
			})
		},
	}
	backends.addTracker(cmd)
	return cmd
}

func inBrackets(report *core.KillReport) string {
	if len(report.Processes) == 0 {
		return ""
	}
	return " (" + processes(report.Processes, report.Killed-len(report.Processes)) + ")"
}

// shortestPrefix is how much of an id tells sessions apart: 8 digits are the time
// to the minute, so that nobody kills by a slip of one key.
const shortestPrefix = 8

// choose finds the one session that a person names.
func choose(list []core.SessionStatus, name string) (*core.SessionStatus, error) {
	var found []*core.SessionStatus
	for i := range list {
		id := list[i].Handle.Session.String()
		if id == name {
			return &list[i], nil
		}
		if strings.HasPrefix(id, name) {
			found = append(found, &list[i])
		}
	}
	switch {
	case len(name) < shortestPrefix:
		return nil, fmt.Errorf("%q is too short to name a session: give %d characters or more (pinfold sessions lists them)", name, shortestPrefix)
	case len(found) == 0:
		return nil, fmt.Errorf("there is no session %q (pinfold sessions lists them)", name)
	case len(found) > 1:
		return nil, fmt.Errorf("%q begins the ids of %d sessions: give more of it (pinfold sessions lists them)", name, len(found))
	}
	return found[0], nil
}

func newSweep() *cobra.Command {
	var backends backendFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "sweep",
		Short: "End the sessions that dead programs left behind",
		Long: `End the sessions of this user whose owner is dead, and remove their temporary
directories. Sessions that were opened to outlive their owner go on.

Exit status: 1 if something could not be removed.`,
		Example: "  pinfold sweep",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withTracker(backends, func(h *host.Host) error {
				report, err := h.Sweep(cmd.Context())
				if err != nil {
					return err
				}
				if asJSON {
					if report.Closed == nil {
						report.Closed = []core.SessionStatus{}
					}
					err = writeJSON(cmd, report)
				} else {
					_, err = fmt.Fprintf(cmd.OutOrStdout(), "ended %s of dead owners, killed %s\n",
						count(len(report.Closed), "session", "sessions"), count(report.Killed, "process", "processes"))
				}
				return errors.Join(err, leftovers(report))
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	backends.addTracker(cmd)
	return cmd
}

func leftovers(report *core.SweepReport) error {
	var errs []error
	for _, failure := range report.Failed {
		errs = append(errs, fmt.Errorf("session %s could not be ended: %s", failure.Session.Handle.Session, failure.Problem))
	}
	return errors.Join(errs...)
}
