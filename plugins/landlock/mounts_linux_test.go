package landlock

import (
	"slices"
	"testing"
)

func TestOtherNamesOfMounts(t *testing.T) {
	table := parseMounts(`20 1 8:1 / / rw - ext4 /dev/sda1 rw
21 20 8:2 / /home rw - ext4 /dev/sda2 rw
22 20 8:2 /ann /srv/ann\040home rw - ext4 /dev/sda2 rw
23 20 8:2 /ann/keys /w/keys rw - ext4 /dev/sda2 rw
24 20 8:1 / /mnt/root rw - ext4 /dev/sda1 rw
25 20 0:5 / /proc rw - proc proc rw
a line that is none
26 20 0:5 / /chroot/proc rw - proc proc rw
`)
	for _, test := range []struct {
		place string
		want  []string
	}{
		{"/etc/secret", []string{"/mnt/root/etc/secret"}},
		{"/home/bob", nil},
		{"/home/ann", []string{"/srv/ann home", "/w/keys"}},
		{"/home/ann/keys", []string{"/srv/ann home/keys", "/w/keys"}},
		{"/home/ann/keys/a", []string{"/srv/ann home/keys/a", "/w/keys/a"}},
		{"/w/keys", []string{"/home/ann/keys", "/srv/ann home/keys"}},
		{"/w", []string{"/mnt/root/w", "/home/ann/keys", "/srv/ann home/keys"}},
		{"/home", []string{"/srv/ann home", "/w/keys"}},
		{"/proc/kcore", []string{"/chroot/proc/kcore"}},
	} {
		if got := table.otherNames(test.place); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.place, got, test.want)
		}
	}
}
