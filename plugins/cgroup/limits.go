package cgroup

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/pinfold/pinfold/core"
)

// controllers is a set of the resource controllers that sessions use.
type controllers uint8

const (
	pidsController controllers = 1 << iota
	memoryController
)

var controllerNames = []struct {
	bit  controllers
	name string
}{{pidsController, "pids"}, {memoryController, "memory"}}

func (c controllers) count() int { return bits.OnesCount8(uint8(c)) }

// names returns the names in a fixed order.
func (c controllers) names() []string {
	var all []string
	for _, known := range controllerNames {
		if c&known.bit != 0 {
			all = append(all, known.name)
		}
	}
	return all
}

func (c controllers) String() string { return strings.Join(c.names(), " and ") }

// parseControllers parses a cgroup.controllers or cgroup.subtree_control.
func parseControllers(text []byte) controllers {
	var c controllers
	for _, name := range strings.Fields(string(text)) {
		for _, known := range controllerNames {
			if name == known.name {
				c |= known.bit
			}
		}
	}
	return c
}

// needs returns the controllers that limits take.
func needs(limits core.LimitsPolicy) controllers {
	var c controllers
	if limits.Processes != 0 {
		c |= pidsController
	}
	if limits.Memory != 0 {
		c |= memoryController
	}
	return c
}

// A setting is one value of one file of a cgroup.
type setting struct {
	controller controllers
	file       string
	value      string
	// optional settings are left out where the kernel has no such file.
	optional bool
}

// settings returns what to write for limits (cgroup-v2.rst, pids and memory).
// Memory that is swapped out is still held, so no swap is allowed: then
// memory.max bounds all of it.
func settings(limits core.LimitsPolicy) []setting {
	var all []setting
	if limits.Processes != 0 {
		all = append(all, setting{pidsController, "pids.max", fmt.Sprint(limits.Processes), false})
	}
	if limits.Memory != 0 {
		all = append(all,
			setting{memoryController, "memory.max", fmt.Sprint(limits.Memory), false},
			setting{memoryController, "memory.swap.max", "0", true})
	}
	return all
}

// limitsFinding is the finding for the limits of a session that needs some
// controllers and got others. Problem is why not, v1 where cgroup v1 has
// controllers mounted.
func limitsFinding(need, got controllers, problem string, v1 map[string]string) core.Finding {
	f := core.Finding{Dimension: core.Limits, Level: core.Enforced, Mechanism: mechanism(got)}
	missing := need &^ got
	if missing == 0 {
		return f
	}
	f.Level = core.Partial
	if got == 0 {
		f.Level = core.Unsupported
	}
	var gaps []string
	for _, name := range missing.names() {
		gap := map[string]string{"pids": "the number of processes", "memory": "the memory"}[name] + " of the session is not bounded: "
		switch point := v1[name]; {
		case point != "":
			gap += fmt.Sprintf("the %s controller is mounted in cgroup v1 on this machine (%s)", name, point)
		case problem != "":
			gap += problem
		default:
			gap += fmt.Sprintf("the %s controller is not available to cgroups that this process may make", name)
		}
		gaps = append(gaps, gap)
	}
	f.Gap = strings.Join(gaps, "; ")
	f.Observed = "no " + strings.Join(missing.names(), " and no ") + " controller"
	f.Required = "the " + need.String() + " " + plural(need.count(), "controller", "controllers") + " in cgroup v2"
	f.Remedy = "run the program in a delegated cgroup: systemd-run --user --scope -p Delegate=yes PROGRAM"
	for _, name := range missing.names() {
		if v1[name] != "" {
			f.Remedy = "start the kernel with systemd.unified_cgroup_hierarchy=1, so that cgroup v2 has the controllers"
		}
	}
	return f
}

func mechanism(got controllers) string {
	var files []string
	for _, name := range got.names() {
		files = append(files, name+".max")
	}
	if len(files) == 0 {
		return ""
	}
	return "cgroup v2 " + strings.Join(files, ", ")
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
