package cgroup

import (
	"bytes"
	"path"
	"strings"
)

// A mount is one line of /proc/self/mountinfo (proc_pid_mountinfo(5)).
type mount struct {
	// root is what part of its filesystem the mount shows. For cgroup2 it is a
	// path relative to the root of the reader's cgroup namespace.
	root     string
	point    string
	fsType   string
	readOnly bool
	// super are the options of the filesystem, such as the v1 controllers.
	super string
}

// parseMountinfo parses the file. A line that it cannot read is left out.
func parseMountinfo(text []byte) []mount {
	var mounts []mount
	for line := range bytes.Lines(text) {
		// 41 31 0:38 / /sys/fs/cgroup rw,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate
		before, after, found := strings.Cut(strings.TrimSuffix(string(line), "\n"), " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !found || len(left) < 6 || len(right) < 3 {
			continue
		}
		mounts = append(mounts, mount{
			root:     unescapeOctal(left[3]),
			point:    unescapeOctal(left[4]),
			fsType:   right[0],
			readOnly: hasOption(left[5], "ro") || hasOption(right[2], "ro"),
			super:    right[2],
		})
	}
	return mounts
}

// unescapeOctal undoes the kernel's escaping of space, tab, newline and
// backslash in mountinfo.
func unescapeOctal(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`, `\043`, "#").Replace(s)
}

func hasOption(options, name string) bool {
	for option := range strings.SplitSeq(options, ",") {
		if option == name {
			return true
		}
	}
	return false
}

// ownCgroup returns the path of the v2 cgroup in the text of a /proc/PID/cgroup,
// relative to the root of the reader's cgroup namespace (cgroup_namespaces(7)),
// or false if the process has none, as without a cgroup2 hierarchy.
func ownCgroup(text []byte) (string, bool) {
	for line := range bytes.Lines(text) {
		if cgroup, ok := bytes.CutPrefix(line, []byte("0::")); ok {
			return strings.TrimSuffix(string(cgroup), "\n"), true
		}
	}
	return "", false
}

// within reports whether p is dir or below it. Both are absolute.
func within(p, dir string) bool {
	_, ok := below(p, dir)
	return ok
}

// below returns the part of p after dir, "" or with a leading slash.
func below(p, dir string) (string, bool) {
	if dir == "/" {
		return strings.TrimSuffix(p, "/"), strings.HasPrefix(p, "/")
	}
	rest, ok := strings.CutPrefix(p, dir)
	return rest, ok && (rest == "" || rest[0] == '/')
}

// A hierarchy is one place where cgroup v2 is mounted.
type hierarchy struct {
	point string // of the mount
	root  string // the cgroup that is at point
}

// directory returns the directory of a cgroup.
func (h hierarchy) directory(cgroup string) (string, bool) {
	rest, ok := below(cgroup, h.root)
	if !ok || strings.Contains(rest+"/", "/../") {
		return "", false
	}
	return h.point + rest, true
}

// cgroup returns the cgroup of a directory.
func (h hierarchy) cgroup(directory string) (string, bool) {
	rest, ok := below(directory, h.point)
	if !ok {
		return "", false
	}
	return path.Clean(h.root + rest), true
}

// commonAncestor returns the lowest cgroup that both are in or below.
func commonAncestor(a, b string) string {
	for !within(b, a) {
		a = path.Dir(a)
	}
	return a
}

// hierarchies returns where cgroup v2 is mounted: the mounts that can be
// written to first, otherwise in the order of the table.
func hierarchies(mounts []mount) []hierarchy {
	var writable, readOnly []hierarchy
	for _, m := range mounts {
		switch h := (hierarchy{point: m.point, root: m.root}); {
		case m.fsType != "cgroup2":
		case m.readOnly:
			readOnly = append(readOnly, h)
		default:
			writable = append(writable, h)
		}
	}
	return append(writable, readOnly...)
}

// hierarchyOf returns the mount that shows a directory: the one with the
// longest mount point above it, and the last of equals, which hides the others.
func hierarchyOf(mounts []mount, directory string) (hierarchy, bool) {
	var top mount
	for _, m := range mounts {
		if within(directory, m.point) && len(m.point) >= len(top.point) {
			top = m
		}
	}
	return hierarchy{point: top.point, root: top.root}, top.fsType == "cgroup2"
}

// candidates returns the directories below which sessions may be made, the best
// first: that of the owner's cgroup, or of the scope that the owner was moved to,
// then its ancestors as far as the mount shows them. Within a session it stops at
// that session, which nothing may leave.
func (h hierarchy) candidates(owner string) []string {
	if scope, ok := scopeOf(owner); ok {
		owner = scope
	}
	directory, ok := h.directory(owner)
	if !ok {
		return nil
	}
	var dirs []string
	for {
		dirs = append(dirs, directory)
		if _, isSession := parseLeafName(path.Base(directory)); isSession || directory == h.point {
			return dirs
		}
		directory = path.Dir(directory)
	}
}

// v1Controllers returns where the controllers of cgroup v1 are mounted. Such a
// controller cannot be used in cgroup v2 at the same time.
func v1Controllers(mounts []mount) map[string]string {
	found := map[string]string{}
	for _, m := range mounts {
		if m.fsType != "cgroup" {
			continue
		}
		for option := range strings.SplitSeq(m.super, ",") {
			found[option] = m.point
		}
	}
	return found
}
