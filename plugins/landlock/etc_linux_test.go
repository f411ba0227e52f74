package landlock

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// inPlaceOfEtc makes a cache of a directory that the test may change. It was last
// changed long ago.
func inPlaceOfEtc(t *testing.T, names ...string) (dir string, c *etcNamesCache) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range names {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
	}
	return dir, &etcNamesCache{dir: dir, settle: -time.Hour}
}

// granted returns the places that the cache would grant.
func granted(t *testing.T, c *etcNamesCache) []string {
	t.Helper()
	var places []string
	must(t, c.each(func(tg *target) error {
		if tg.public {
			place, err := filepath.Rel(c.dir, tg.place)
			must(t, err)
			var here, there unix.Stat_t
			must(t, unix.Fstat(tg.fd, &here))
			must(t, unix.Lstat(tg.place, &there))
			if here.Ino != there.Ino {
				t.Errorf("%s leads to another file by now", place)
			}
			places = append(places, place)
		}
		return nil
	}))
	slices.Sort(places)
	return places
}

func TestEtcNamesFollowChanges(t *testing.T) {
	dir, c := inPlaceOfEtc(t, "passwd", "group", "shadow", "ssl/openssl.cnf", "ssl/private")
	want := func(what string, names ...string) {
		t.Helper()
		if got := granted(t, c); !slices.Equal(got, names) {
			t.Errorf("%s: granted %q, want %q", what, got, names)
		}
	}
	want("at first", "group", "passwd", "ssl/openssl.cnf")
	kept := c.targets[0]
	want("again", "group", "passwd", "ssl/openssl.cnf")
	if c.targets[0] != kept {
		t.Error("nothing changed, and the names were looked up again")
	}

	must(t, os.Chmod(filepath.Join(dir, "group"), 0o600))
	want("a file made private", "passwd", "ssl/openssl.cnf")

	must(t, os.WriteFile(filepath.Join(dir, "passwd.new"), nil, 0o644))
	must(t, os.Rename(filepath.Join(dir, "passwd.new"), filepath.Join(dir, "passwd")))
	want("a file replaced", "passwd", "ssl/openssl.cnf")

	must(t, os.WriteFile(filepath.Join(dir, "ssl/cert.pem"), nil, 0o644))
	want("a file new in a directory", "passwd", "ssl/cert.pem", "ssl/openssl.cnf")

	must(t, os.Remove(filepath.Join(dir, "passwd")))
	must(t, os.Symlink("shadow", filepath.Join(dir, "passwd")))
	want("a file turned into a link to a secret", "ssl/cert.pem", "ssl/openssl.cnf")

	must(t, os.Rename(filepath.Join(dir, "ssl"), filepath.Join(dir, "elsewhere")))
	want("a directory moved away")

	must(t, os.Rename(dir, dir+".old"))
	must(t, os.MkdirAll(dir, 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "hosts"), nil, 0o644))
	want("the whole directory replaced", "hosts")
}

// What changed a moment ago may change again within the same tick of the clock.
func TestEtcNamesAreNotKeptWhileTheySettle(t *testing.T) {
	_, c := inPlaceOfEtc(t, "passwd")
	c.settle = time.Hour
	granted(t, c)
	kept := c.targets[0]
	granted(t, c)
	if c.targets[0] == kept {
		t.Error("the change time of a directory that just changed was trusted")
	}
}

func TestEtcNamesCloseWhatTheyReplace(t *testing.T) {
	dir, c := inPlaceOfEtc(t, "passwd", "group")
	granted(t, c)
	before := openFiles(t)
	for range 5 {
		must(t, os.WriteFile(filepath.Join(dir, "new"), nil, 0o644))
		must(t, os.Remove(filepath.Join(dir, "new")))
		granted(t, c)
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d descriptors open, %d before", after, before)
	}
}
