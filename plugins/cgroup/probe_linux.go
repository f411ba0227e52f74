package cgroup

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/core/owner"
)

// Probe implements [core.Backend]. It makes a cgroup, starts a process in it
// that ends at once, and removes it again; nothing else tells whether sessions
// can be made. It enables no controller, and says which could be. It moves nobody:
// where a session takes a scope of systemd, it asks the user manager who it is.
func (t *Tracker) Probe(ctx context.Context) (*core.Capability, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	host, err := t.probed()
	if err != nil {
		return nil, failure(core.StageProbe, core.ErrUnavailable, "/proc/self/stat", err, "reading the own process")
	}
	name, err := newLeafName(&core.OpenRequest{Session: core.NewSessionID(), Owner: host}, t.uid, t.view)
	if err != nil {
		return nil, err
	}
	c := &core.Capability{Facts: []core.Fact{{Name: "kernel", Value: kernelRelease()}}}
	p, err := locate(core.StageProbe, host.PID)
	var problem *core.Error
	if errors.As(err, &problem) {
		if problem.Reason == core.ErrUnavailable {
			return nil, err
		}
		c.Findings = []core.Finding{noCleanup(problem), noLimits(problem)}
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	c.Facts = append(c.Facts, p.facts()...)
	l, _, tried, err := t.makeIn(core.StageProbe, p, name, 0)
	switch {
	case err != nil:
		return nil, err
	case len(tried) == 0:
		defer l.close()
		defer unix.Rmdir(l.path)
		c.Findings = []core.Finding{cleanupFinding(l.parent()), probeLimits(obtainable(p.ranked(allControllers)[0]), p.mounts)}
		c.Facts = append(c.Facts,
			core.Fact{Name: "sessions are made below", Value: l.parent()},
			core.Fact{Name: "a process can be started in a session", Value: "yes"},
			core.Fact{Name: "cgroup.kill", Value: t.killFact(l)})
	case !scopeWouldHelp(tried[0]):
		problem := refused(core.StageProbe, tried, nil)
		if problem.Reason == core.ErrUnavailable {
			return nil, problem
		}
		c.Findings = []core.Finding{noCleanup(problem), noLimits(problem)}
	default:
		t.probeScope(ctx, c, p, tried)
	}
	return c, nil
}

// probed returns the process that the answer is about: this one, which is where
// its host is, unless that has been moved into a scope meanwhile.
func (t *Tracker) probed() (core.Owner, error) {
	if cgroup, err := cgroupOf(os.Getppid()); err == nil {
		if _, ok := scopeOf(cgroup); ok {
			if host, err := owner.Of(os.Getppid()); err == nil {
				return host, nil
			}
		}
	}
	return owner.Self()
}

// probeScope says whether the user manager could be asked for a scope, and why
// that is what it takes.
func (t *Tracker) probeScope(ctx context.Context, c *core.Capability, p *place, tried []refusal) {
	why := "this process " + detail(tried)
	if errno := tried[0].errno; errno != 0 {
		why += ": " + errno.Error()
	}
	c.Facts = append(c.Facts, core.Fact{Name: "not below the own cgroup", Value: why})
	var manager string
	refusal := errInSession
	if !inSession(p.owner) {
		refusal = callManager(ctx, here(), func(_ context.Context, m *userManager) error {
			manager = m.cgroup
			return nil
		})
	}
	if refusal != nil {
		problem := refused(core.StageProbe, tried, refusal)
		c.Findings = []core.Finding{noCleanup(problem), noLimits(problem)}
		return
	}
	c.Facts = append(c.Facts,
		core.Fact{Name: "user manager", Value: manager},
		core.Fact{Name: "sessions are made below", Value: "a systemd scope, which the user manager would be asked for, and the host be moved to, if the host permits"})
	// A scope that is delegated gets what the manager has (systemd.resource-control(5)).
	directory, _ := p.directory(manager)
	c.Findings = []core.Finding{
		{Dimension: core.Cleanup, Level: core.Enforced, Mechanism: scopeMechanism},
		probeLimits(readControllers(directory+"/cgroup.controllers"), p.mounts),
	}
}

// noCleanup is the finding where no session can be made.
func noCleanup(problem *core.Error) core.Finding {
	f := core.Finding{
		Dimension: core.Cleanup,
		Level:     core.Unsupported,
		Gap:       "no session can be tracked: " + problem.Detail,
		Observed:  problem.Detail,
		Required:  "a cgroup v2 in which this user may make cgroups and start processes",
		Remedy:    problem.Remedy,
	}
	if problem.Errno != 0 {
		f.Observed = problem.Errno.Error()
	}
	return f
}

// noLimits is the finding on limits where no session can be made.
func noLimits(problem *core.Error) core.Finding {
	return core.Finding{
		Dimension: core.Limits,
		Level:     core.Unsupported,
		Gap:       "no session can be made whose processes and memory could be bounded",
		Required:  "the " + allControllers.String() + " controllers in cgroup v2",
		Remedy:    problem.Remedy,
	}
}

// probeLimits is the finding for a session with every limit, in which some
// controllers can be had.
func probeLimits(got controllers, mounts []mount) core.Finding {
	return limitsFinding(allControllers, got&allControllers, "", v1Controllers(mounts))
}

const allControllers = pidsController | memoryController

func (p *place) facts() []core.Fact {
	facts := []core.Fact{
		{Name: "cgroup v2 mounted at", Value: p.point},
		{Name: "own cgroup", Value: p.owner},
	}
	directory, _ := p.directory(p.owner)
	available := "none"
	if text, err := readFile(unix.AT_FDCWD, directory+"/cgroup.controllers"); err == nil && len(strings.Fields(string(text))) > 0 {
		available = strings.Join(strings.Fields(string(text)), " ")
	}
	facts = append(facts, core.Fact{Name: "cgroup v2 controllers", Value: available})
	if v1 := v1Controllers(p.mounts); len(v1) > 0 {
		facts = append(facts, core.Fact{Name: "cgroup v1 mounted at", Value: strings.Join(slices.Sorted(maps.Values(v1)), " ")})
	}
	return facts
}

func (t *Tracker) killFact(l *leaf) string {
	var st unix.Stat_t
	if unix.Fstatat(l.fd, t.killName, &st, 0) == nil {
		return "yes"
	}
	return "no (Linux 5.14 has it): sessions are frozen and their processes killed one by one"
}

func kernelRelease() string {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(name.Release[:])
}
