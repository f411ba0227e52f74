package cgroup

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/core/owner"
)

// Probe implements [core.Backend]. It makes a cgroup, starts a process in it
// that ends at once, and removes it again; nothing else tells whether sessions
// can be made. It enables no controller, and says which could be.
func (t *Tracker) Probe(ctx context.Context) (*core.Capability, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	self, err := owner.Self()
	if err != nil {
		return nil, failure(core.StageProbe, core.ErrUnavailable, "/proc/self/stat", err, "reading the own process")
	}
	name, err := newLeafName(&core.OpenRequest{Session: core.NewSessionID(), Owner: self}, t.uid, t.view)
	if err != nil {
		return nil, err
	}
	c := &core.Capability{Facts: []core.Fact{{Name: "kernel", Value: kernelRelease()}}}
	p, err := locate(core.StageProbe)
	if err == nil {
		c.Facts = append(c.Facts, p.facts()...)
		// Not by way of what an earlier Open settled: the answer is about now.
		fresh := New()
		var l *leaf
		if l, _, err = fresh.make(core.StageProbe, name, 0); err == nil {
			defer l.close()
			defer unix.Rmdir(l.path)
			c.Facts = append(c.Facts,
				core.Fact{Name: "sessions are made below", Value: path.Dir(l.path)},
				core.Fact{Name: "a process can be started in a session", Value: "yes"},
				core.Fact{Name: "cgroup.kill", Value: t.killFact(l)})
		}
	}
	var problem *core.Error
	if errors.As(err, &problem) && problem.Reason == core.ErrUnavailable {
		return nil, err
	}
	c.Findings = []core.Finding{cleanup(problem), probeLimits(p, problem)}
	return c, nil
}

// cleanup is the finding for the Cleanup dimension of a machine.
func cleanup(problem *core.Error) core.Finding {
	if problem == nil {
		return cleanupFinding()
	}
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

// probeLimits is the finding for a session with every limit.
func probeLimits(p *place, problem *core.Error) core.Finding {
	need := pidsController | memoryController
	if problem != nil {
		return core.Finding{
			Dimension: core.Limits,
			Level:     core.Unsupported,
			Gap:       "no session can be made whose processes and memory could be bounded",
			Required:  "the " + need.String() + " controllers in cgroup v2",
			Remedy:    problem.Remedy,
		}
	}
	return limitsFinding(need, obtainable(p.ranked(need)[0])&need, "", v1Controllers(p.mounts))
}

func (p *place) facts() []core.Fact {
	facts := []core.Fact{
		{Name: "cgroup v2 mounted at", Value: p.point},
		{Name: "own cgroup", Value: p.own},
	}
	directory, _ := p.directory(p.own)
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
