package backend

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pinfold/pinfold/core"
)

// search makes two directories with nothing in them and sets the paths.
func search(t *testing.T) (backends, path string) {
	t.Helper()
	dir := t.TempDir()
	backends, path = filepath.Join(dir, "backends"), filepath.Join(dir, "path")
	for _, d := range []string{backends, path} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", path)
	t.Setenv(PathEnvKey, "relative"+":"+":"+backends)
	return backends, path
}

func TestFindOrder(t *testing.T) {
	backends, path := search(t)
	want := func(name string, want Program) {
		t.Helper()
		got, err := Find(name)
		if err != nil || got.Path != want.Path || got.Name != want.Name || got.String() != want.String() {
			t.Errorf("Find(%q) is %v, %v, want %v", name, got, err, want)
		}
	}
	onPath := Embedded(program(t, path, "pinfold", "", 0o755), "landlock")
	want("landlock", onPath)
	if got, _ := Find("landlock"); !got.IsEmbedded() {
		t.Error("an embedded backend does not say so")
	}
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	beside := program(t, filepath.Dir(executable), "pinfold", "", 0o755)
	defer os.Remove(beside)
	want("landlock", Embedded(beside, "landlock"))

	installed := Program{Name: "landlock", Path: program(t, backends, "pinfold-landlock", "", 0o755)}
	want("landlock", installed)
	want(installed.Path, Program{Name: "pinfold-landlock", Path: installed.Path})
	link := filepath.Join(path, "link")
	if err := os.Symlink(installed.Path, link); err != nil {
		t.Fatal(err)
	}
	want(link, Program{Name: "link", Path: installed.Path})
	// What is wrong with an installed one is said, not passed over.
	if err := os.Chmod(installed.Path, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = Find("landlock")
	wantReason(t, err, core.ErrNotPermitted)
}

func TestFindRefuses(t *testing.T) {
	backends, path := search(t)
	loose := filepath.Join(path, "loose")
	group := filepath.Join(path, "group")
	sticky := filepath.Join(path, "sticky")
	foreign := filepath.Join(path, "foreign")
	for dir, mode := range map[string]fs.FileMode{loose: 0o777, group: 0o775, sticky: 0o777 | fs.ModeSticky, foreign: 0o755} {
		if err := errors.Join(os.Mkdir(dir, 0o755), os.Chmod(dir, mode)); err != nil {
			t.Fatal(err)
		}
	}
	const nobody = 65534
	owned := func(path string, uid, gid int) string {
		if os.Getuid() != 0 {
			t.Skip("giving files to another user takes root")
		}
		if err := os.Chown(path, uid, gid); err != nil {
			t.Fatal(err)
		}
		return path
	}
	inForeign := program(t, foreign, "b", "", 0o755)
	inGroup := program(t, group, "b", "", 0o755)
	owned(foreign, nobody, 0)
	owned(group, 0, nobody)
	setgroup := func(path string) string { // chown takes no mode bits but these
		return owned(path, 0, nobody)
	}
	var text strings.Builder
	for _, c := range []struct{ name, backend string }{
		{"it is nowhere", "nowhere"},
		{"the name is empty", ""},
		{"the name has a NUL byte", "a\x00b"},
		{"the path leads nowhere", filepath.Join(backends, "pinfold-x")},
		{"a directory", backends},
		{"not executable", program(t, backends, "pinfold-text", "", 0o644)},
		{"the world writes", program(t, backends, "pinfold-world", "", 0o757)},
		{"a group writes", setgroup(program(t, backends, "pinfold-group", "", 0o775))},
		{"another's", owned(program(t, backends, "pinfold-others", "", 0o755), nobody, 0)},
		{"the world writes to the directory", program(t, loose, "b", "", 0o755)},
		{"a group writes to the directory", inGroup},
		{"another's directory", inForeign},
	} {
		_, err := Find(c.backend)
		if err == nil {
			t.Errorf("%s: found", c.name)
		}
		fmt.Fprintf(&text, "%s:\n\t%v\n", c.name, err)
	}
	compare(t, "find.txt", text.String(), map[string]string{
		filepath.Dir(path): "DIR", filepath.Dir(self(t, "").Path): "BESIDE",
	})
	// The controls: the group is one's own, the directory is sticky.
	for _, path := range []string{program(t, backends, "pinfold-own", "", 0o775), program(t, sticky, "b", "", 0o755)} {
		if _, err := Find(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}
