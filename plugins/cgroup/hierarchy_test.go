package cgroup

import (
	"slices"
	"testing"
)

// The mounts of machines of different kinds, shortened.
const (
	unifiedMounts = `22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
24 22 0:22 / /proc rw,nosuid,nodev,noexec,relatime shared:5 - proc proc rw
29 25 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot
`
	hybridMounts = `22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
36 31 0:33 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
38 31 0:35 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
39 31 0:36 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
`
	containerMounts = `600 599 0:50 / / rw,relatime - overlay overlay rw
610 605 0:26 / /sys/fs/cgroup ro,nosuid,nodev,noexec,relatime - cgroup2 cgroup rw
611 600 0:26 / /scratch/a\040b rw,relatime - cgroup2 cgroup rw
`
	// A container engine's bind mount, without a cgroup namespace.
	subtreeMounts = `600 599 0:50 / / rw,relatime - overlay overlay rw
610 605 0:26 /docker/0123 /sys/fs/cgroup rw,relatime - cgroup2 cgroup rw
`
	noMounts = `22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
`
)

func TestCandidates(t *testing.T) {
	for _, c := range []struct {
		what, mounts, cgroup string
		want                 []string
	}{
		{"root shell under systemd", unifiedMounts, "11:pids:/x\n0::/user.slice/user-0.slice/session-1.scope\n",
			[]string{"/sys/fs/cgroup/user.slice/user-0.slice/session-1.scope", "/sys/fs/cgroup/user.slice/user-0.slice", "/sys/fs/cgroup/user.slice", "/sys/fs/cgroup"}},
		{"hybrid, in the root", hybridMounts, "8:pids:/a\n4:memory:/b/c\n0::/\n", []string{"/sys/fs/cgroup/unified"}},
		{"hybrid, below", hybridMounts, "0::/x.scope\n", []string{"/sys/fs/cgroup/unified/x.scope", "/sys/fs/cgroup/unified"}},
		{"the mount that can be written to", containerMounts, "0::/y\n", []string{"/scratch/a b/y", "/scratch/a b"}},
		{"no namespace, own cgroup mounted", subtreeMounts, "0::/docker/0123/z\n", []string{"/sys/fs/cgroup/z", "/sys/fs/cgroup"}},
		{"own cgroup not mounted", subtreeMounts, "0::/docker/01234\n", nil},
		{"outside of the cgroup namespace", unifiedMounts, "0::/../other.slice\n", nil},
		{"no cgroup2 mounted", noMounts, "0::/\n", nil},
		{"cgroup v1 alone", hybridMounts, "8:pids:/a\n", nil},
		{"in a session", unifiedMounts, "0::/a.scope/" + exampleText + "\n", []string{"/sys/fs/cgroup/a.scope/" + exampleText}},
		{"further down in a session", unifiedMounts, "0::/a.scope/" + exampleText + "/b/c\n",
			[]string{"/sys/fs/cgroup/a.scope/" + exampleText + "/b/c", "/sys/fs/cgroup/a.scope/" + exampleText + "/b", "/sys/fs/cgroup/a.scope/" + exampleText}},
	} {
		var got []string
		own, ok := ownCgroup([]byte(c.cgroup))
		for _, h := range hierarchies(parseMountinfo([]byte(c.mounts))) {
			if got = h.candidates(own); ok && got != nil {
				break
			}
		}
		if !ok {
			got = nil
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", c.what, got, c.want)
		}
	}
}

// A cgroup's directory and a directory's cgroup are each other's inverse.
func TestHierarchyOf(t *testing.T) {
	for _, c := range []struct{ mounts, directory, cgroup string }{
		{unifiedMounts, "/sys/fs/cgroup/a/b", "/a/b"},
		{unifiedMounts, "/sys/fs/cgroup", "/"},
		{hybridMounts, "/sys/fs/cgroup/unified/a", "/a"},
		{containerMounts, "/scratch/a b/c", "/c"},
		{subtreeMounts, "/sys/fs/cgroup/z", "/docker/0123/z"},
		// A mount on top hides the cgroup filesystem.
		{unifiedMounts + "90 29 0:90 / /sys/fs/cgroup/a rw - tmpfs tmpfs rw\n", "/sys/fs/cgroup/a/b", ""},
		{unifiedMounts + "90 29 0:90 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n", "/sys/fs/cgroup/a", ""},
		{hybridMounts, "/sys/fs/cgroup/memory/a", ""},
		{hybridMounts, "/sys/fs/cgroup/unifiedx", ""},
		{hybridMounts, "/home/x", ""},
		{"", "/sys/fs/cgroup", ""},
	} {
		h, ok := hierarchyOf(parseMountinfo([]byte(c.mounts)), c.directory)
		if ok != (c.cgroup != "") {
			t.Errorf("%s: %+v, %v", c.directory, h, ok)
		}
		if !ok {
			continue
		}
		if got, ok := h.cgroup(c.directory); !ok || got != c.cgroup {
			t.Errorf("cgroup(%s) = %s, %v", c.directory, got, ok)
		}
		if got, ok := h.directory(c.cgroup); !ok || (got != c.directory && got != c.directory+"/") {
			t.Errorf("directory(%s) = %s, %v", c.cgroup, got, ok)
		}
	}
}

func TestParseMountinfo(t *testing.T) {
	got := parseMountinfo([]byte(`36 35 98:0 /mnt1 /a\134b\040c\011\012 rw,noatime master:1 shared:2 - ext3 /dev/root rw,errors=continue
37 35 0:26 /x/.. /y ro - cgroup2 cgroup2 rw

a line that is none
36 35 98:0 / /short
`))
	want := []mount{
		{root: "/mnt1", point: "/a\\b c\t\n", fsType: "ext3", super: "rw,errors=continue"},
		{root: "/x/..", point: "/y", fsType: "cgroup2", readOnly: true, super: "rw"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func FuzzMountinfo(f *testing.F) {
	for _, seed := range []string{unifiedMounts, hybridMounts, containerMounts, subtreeMounts} {
		f.Add(seed, "/a/b")
	}
	f.Fuzz(func(t *testing.T, text, own string) {
		mounts := parseMountinfo([]byte(text))
		constraints(mounts, 0)
		hierarchyOf(mounts, own)
		for _, h := range hierarchies(mounts) {
			if len(own) > 0 && own[0] == '/' && len(h.point) > 0 && h.point[0] == '/' {
				if directory, ok := h.directory(own); ok && !within(directory, h.point) && h.point != "/" {
					t.Errorf("%q is not below the mount %q", directory, h.point)
				}
			}
		}
	})
}
