//go:build unix

package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/core/owner"
)

func TestRemoveTree(t *testing.T) {
	for name, make := range map[string]func(t *testing.T, dir string){
		"nothing":            func(t *testing.T, dir string) { os.Remove(dir) },
		"an empty directory": func(*testing.T, string) {},
		"many files":         func(t *testing.T, dir string) { makeFiles(t, dir, 3*namesAtOnce) },
		"many directories": func(t *testing.T, dir string) {
			for i := range 200 {
				os.MkdirAll(filepath.Join(dir, fmt.Sprint(i), "a/b"), 0o755)
			}
		},
		"a deep tree": func(t *testing.T, dir string) { makeDeep(t, dir, 1500) },
		"directories without permissions": func(t *testing.T, dir string) {
			os.MkdirAll(dir+"/a/b/c", 0o755)
			os.WriteFile(dir+"/a/b/c/file", nil, 0)
			for _, sub := range []string{"/a/b/c", "/a/b", "/a", ""} {
				os.Chmod(dir+sub, 0)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			dir := filepath.Join(parent, "tree")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			make(t, dir)
			if err := removeTree(context.Background(), dir); err != nil {
				t.Error(err)
			}
			if entries, _ := os.ReadDir(parent); len(entries) != 0 {
				t.Errorf("left: %v", entries)
			}
		})
	}
}

func makeFiles(t *testing.T, dir string, n int) {
	t.Helper()
	for i := range n {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// makeDeep makes a chain of directories whose path no system call takes.
func makeDeep(t *testing.T, dir string, depth int) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	for i := 0; i < depth && err == nil; i++ {
		var next *os.Root
		if err = root.Mkdir("down", 0o755); err == nil {
			next, err = root.OpenRoot("down")
		}
		root.Close()
		root = next
	}
	if err != nil {
		t.Fatal(err)
	}
	root.Close()
}

func TestRemoveTreeFollowsNoLinks(t *testing.T) {
	base := t.TempDir()
	kept, dir := filepath.Join(base, "kept"), filepath.Join(base, "tree")
	for _, d := range []string{kept, dir + "/sub"} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	makeFiles(t, kept, 3)
	if err := os.Chmod(kept, 0o711); err != nil {
		t.Fatal(err)
	}
	for _, link := range []string{dir + "/link", dir + "/sub/link"} {
		if err := os.Symlink(kept, link); err != nil {
			t.Fatal(err)
		}
	}
	if err := removeTree(context.Background(), dir); err != nil {
		t.Fatal(err)
	}
	// A link in the place of the tree itself is removed as well.
	if err := os.Symlink(kept, dir); err != nil {
		t.Fatal(err)
	}
	if err := removeTree(context.Background(), dir); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(kept)
	if entries, _ := os.ReadDir(kept); err != nil || len(entries) != 3 || info.Mode().Perm() != 0o711 {
		t.Errorf("what the links led to: %v, %v, %v", info, entries, err)
	}
}

func TestRemoveTreeStopsWithItsContext(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tree")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	makeFiles(t, dir, 3)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := removeTree(ctx, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestSweepOfTemporaryDirectories(t *testing.T) {
	parent := t.TempDir()
	self, err := owner.Self()
	if err != nil {
		t.Fatal(err)
	}
	dead := self
	dead.Start++ // another process of the same pid
	elsewhere := ownView()
	elsewhere.pid++
	live := core.NewSessionID()
	const sweep, keep = true, false
	cases := map[string]bool{}
	add := func(o core.Owner, v view, id core.SessionID, gone bool) { cases[tempName{o, v, id}.String()] = gone }
	add(self, ownView(), core.NewSessionID(), keep)
	add(dead, ownView(), core.NewSessionID(), sweep)
	add(dead, ownView(), live, keep) // a session that outlives its owner
	add(dead, elsewhere, core.NewSessionID(), keep)
	otherBoot := self
	otherBoot.Boot = "00000000-0000-4000-8000-000000000000"
	add(otherBoot, elsewhere, core.NewSessionID(), sweep)
	for _, name := range []string{"file", "1-2-3", "x" + tempName{dead, ownView(), live}.String(), "plugin-dir1"} {
		cases[name] = keep
	}
	for name := range cases {
		if err := os.MkdirAll(filepath.Join(parent, name, "sub"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	names, err := deadTemps(parent)
	if err != nil {
		t.Fatal(err)
	}
	if err := removeTemps(context.Background(), parent, names, []core.SessionStatus{{Handle: core.Handle{Session: live}}}); err != nil {
		t.Error(err)
	}
	for name, gone := range cases {
		if existsDir(filepath.Join(parent, name)) == gone {
			t.Errorf("%s: gone should be %v", name, gone)
		}
	}
}

func TestPrivateDirectories(t *testing.T) {
	dir, err := privateDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	if again, err := privateDir(filepath.Dir(dir)); again != dir || err != nil {
		t.Errorf("%q, %v", again, err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := privateDir(filepath.Dir(dir)); !errors.Is(err, core.ErrNotPermitted) {
		t.Errorf("a directory that others may read: %v", err)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), dir); err != nil {
		t.Fatal(err)
	}
	if _, err := privateDir(filepath.Dir(dir)); !errors.Is(err, core.ErrNotPermitted) {
		t.Errorf("a link: %v", err)
	}
	if _, err := privateDir(filepath.Join(dir, "missing")); !errors.Is(err, core.ErrNotPermitted) || !strings.Contains(err.Error(), "TMPDIR") {
		t.Errorf("no parent: %v", err)
	}
}

func TestSweepOfSocketsSparesYoungOnes(t *testing.T) {
	parent := t.TempDir()
	young, old := filepath.Join(parent, "plugin-dir1"), filepath.Join(parent, "plugin-dir2")
	long := time.Now().Add(-2 * abandonedAfter)
	for _, dir := range []string{young, old} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(old, long, long); err != nil {
		t.Fatal(err)
	}
	if err := sweepSockets(parent); err != nil {
		t.Error(err)
	}
	if !existsDir(young) || existsDir(old) {
		t.Error("the wrong directories were removed")
	}
}
