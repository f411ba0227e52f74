package landlock

import (
	"os"
	"path"
	"strconv"
	"strings"
)

// A mountTable is the mounts that this process sees.
type mountTable []mountEntry

// A mountEntry shows a part of a filesystem somewhere (proc_pid_mountinfo(5)).
type mountEntry struct {
	device string // major:minor
	root   string // the part of the filesystem
	point  string // where it is shown
}

func readMounts() (mountTable, error) {
	const file = "/proc/self/mountinfo"
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, planError(file, "cannot read the table of mounts", err)
	}
	return parseMounts(string(text)), nil
}

func parseMounts(text string) mountTable {
	var table mountTable
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 5 {
			continue
		}
		table = append(table, mountEntry{device: f[2], root: unescapeMount(f[3]), point: unescapeMount(f[4])})
	}
	return table
}

// unescapeMount undoes the octal escapes of mountinfo (\040 for a space).
func unescapeMount(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// otherNames returns the places, apart from those at or below the place itself,
// where other mounts show what is there or a part of it, also where those mounts
// are covered by others.
func (t mountTable) otherNames(place string) []string {
	type part struct{ device, root string }
	var parts []part
	if m := t.containing(place); m != nil {
		parts = append(parts, part{m.device, path.Join(m.root, strings.TrimPrefix(place, m.point))})
	}
	for _, m := range t {
		if m.point != place && within(m.point, place) {
			parts = append(parts, part{m.device, m.root})
		}
	}
	seen := map[string]bool{}
	var names []string
	for _, p := range parts {
		for _, m := range t {
			name := ""
			switch {
			case m.device != p.device:
			case within(m.root, p.root):
				name = m.point
			case within(p.root, m.root):
				name = path.Join(m.point, strings.TrimPrefix(p.root, m.root))
			}
			if name != "" && !within(name, place) && !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	return names
}

// containing returns the mount that a place is on: the innermost, and of several
// at one point the last.
func (t mountTable) containing(place string) *mountEntry {
	var found *mountEntry
	for i := range t {
		m := &t[i]
		if within(place, m.point) && (found == nil || len(m.point) >= len(found.point)) {
			found = m
		}
	}
	return found
}
