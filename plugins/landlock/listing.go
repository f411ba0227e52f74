//go:build linux

package landlock

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pinfold/pinfold/core"
)

// listPlan writes the plan in the words of the kernel: the ruleset's attributes
// and rules, the mounts, the limits and the privileges. rules are the lines of the ruleset's rules,
// in any order.
func listPlan(d *design, birth *core.Birth, rules []string) string {
	var b strings.Builder
	if d.domain() {
		fmt.Fprintf(&b, "# Landlock ruleset, ABI %d\n", d.machine.abi())
		fmt.Fprintf(&b, "handled_access_fs: %s\n", bitNames(d.handled.fs, fsRightNames))
		fmt.Fprintf(&b, "handled_access_net: %s\n", bitNames(d.handled.net, netRightNames))
		fmt.Fprintf(&b, "scoped: %s\n", bitNames(d.handled.scoped, scopeNames))
		slices.Sort(rules)
		for _, line := range slices.Compact(rules) {
			b.WriteString(line)
			b.WriteByte('\n')
		}
	} else {
		b.WriteString("# no Landlock ruleset\n")
	}
	for _, m := range birth.Mounts {
		fmt.Fprintf(&b, "mount %s\n", mountText(m))
	}
	for _, l := range birth.Limits {
		fmt.Fprintf(&b, "limit %s: %d\n", resourceNames[l.Resource], l.Hard)
	}
	if birth.DropCapabilities != 0 {
		fmt.Fprintf(&b, "capabilities kept: %s\n", keptText(birth.DropCapabilities))
	}
	if birth.NoNewPrivileges {
		b.WriteString("no_new_privs\n")
	}
	return b.String()
}

func mountText(m core.Mount) string {
	text := "empty " + pathText(m.Target)
	if m.Kind == core.MountBind {
		text = "bind " + pathText(m.Source) + " on " + pathText(m.Target)
	}
	if m.ReadOnly {
		text += " read-only"
	}
	return text
}

var resourceNames = map[core.Resource]string{
	core.ResourceCore:      "core",
	core.ResourceFileSize:  "fsize",
	core.ResourceOpenFiles: "nofile",
}
