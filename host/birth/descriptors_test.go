//go:build linux && (amd64 || arm64)

package birth

import (
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
)

// numbered makes a file with the given content at a descriptor number of this
// process, which the test must not use otherwise.
func numbered(t *testing.T, dir string, fd int, flags int) *os.File {
	t.Helper()
	path := fmt.Sprintf("%s/file%d", dir, fd)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Dup3(int(f.Fd()), fd, flags); err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), path)
	t.Cleanup(func() { file.Close() })
	return file
}

// openIn starts a shell with a socket to the test as files[0], and
// returns what is open in it once it runs, but for the socket.
func openIn(t *testing.T, b *core.Birth, files []*os.File) map[int]string {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	defer ours.Close()
	files[0] = theirs
	c := &Command{Path: "/bin/sh", Args: []string{"sh", "-c", "exec >&0; echo ready; read x"}, Files: files}
	process, err := Start(c, b)
	theirs.Close()
	if err != nil {
		t.Fatal(err)
	}
	defer process.Wait()
	defer ours.Write([]byte("go on\n"))
	if _, err := ours.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	found := map[int]string{}
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		n, _ := strconv.Atoi(e.Name())
		if found[n], err = os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", process.Pid, n)); err != nil {
			t.Error(err)
		}
	}
	delete(found, 0)
	delete(found, 1) // the same socket since exec
	return found
}

// expectFiles compares what a command finds open, but for descriptors 0 and 1, with
// names below dir.
func expectFiles(t *testing.T, b *core.Birth, dir string, files []*os.File, want map[int]string) {
	t.Helper()
	found := openIn(t, b, files)
	for fd, target := range found {
		found[fd] = strings.TrimPrefix(target, dir+"/")
	}
	if !maps.Equal(found, want) {
		t.Errorf("descriptors %v, want %v", found, want)
	}
}

// openFiles counts the descriptors of this process.
func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// TestDescriptorsCollide permutes files whose numbers in the parent are places
// of other files in the child.
func TestDescriptorsCollide(t *testing.T) {
	dir := scratch(t)
	f := map[int]*os.File{}
	for fd := 50; fd < 58; fd++ {
		f[fd] = numbered(t, dir, fd, unix.O_CLOEXEC)
	}
	files := make([]*os.File, 60)
	want := map[int]string{}
	for place, source := range map[int]int{
		50: 51, 51: 50, // a swap
		52: 53, 53: 54, 54: 52, // a cycle
		55: 55,                 // kept
		56: 55, 57: 55, 58: 50, // one file at several places
		2: 57, 3: 56, // up from below
	} {
		files[place], want[place] = f[source], fmt.Sprint("file", source)
	}
	expectFiles(t, nil, dir, files, want)
}

// TestInheritedDescriptors: what this process inherited without close-on-exec
// is not handed on, at whatever number.
func TestInheritedDescriptors(t *testing.T) {
	dir := scratch(t)
	for _, fd := range []int{60, 61, 200, 1000} {
		numbered(t, dir, fd, 0)
	}
	kept := numbered(t, dir, 62, 0)
	files := []*os.File{nil, nil, nil, kept}
	expectFiles(t, nil, dir, files, map[int]string{3: "file62"})
}

// TestNilFileIsClosed: a nil entry closes a number that is open in the parent.
func TestNilFileIsClosed(t *testing.T) {
	dir := scratch(t)
	f := numbered(t, dir, 63, 0)
	numbered(t, dir, 64, 0)
	files := make([]*os.File, 66)
	files[65] = f
	expectFiles(t, nil, dir, files, map[int]string{65: "file63"})
}

// TestFewerThanThreeFiles: descriptors 0 to 2 are no exception.
func TestFewerThanThreeFiles(t *testing.T) {
	if found := openIn(t, nil, make([]*os.File, 1)); len(found) != 0 {
		t.Errorf("descriptors %v", found)
	}
}

// TestRulesetAtAPlace: a Landlock ruleset whose number is a place of the child
// is still applied, and not handed on.
func TestRulesetAtAPlace(t *testing.T) {
	needLandlock(t)
	dir := scratch(t)
	ruleset := rulesetWriting(t, dir)
	if err := unix.Dup3(int(ruleset.Fd()), 70, unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	moved := os.NewFile(70, "ruleset")
	defer moved.Close()
	files := make([]*os.File, 75)
	files[70] = numbered(t, dir, 71, unix.O_CLOEXEC)
	b := &core.Birth{NoNewPrivileges: true, Landlock: []core.LandlockRuleset{{File: moved}}}
	expectFiles(t, b, dir, files, map[int]string{70: "file71"})
	expectTries(t, b, "write:"+dir+"/x", "ok", "write:"+scratch(t)+"/x", "EACCES")
}

// TestNoDescriptorLeaks counts this process's descriptors around births that
// succeed and births that fail.
func TestNoDescriptorLeaks(t *testing.T) {
	run := func() {
		for _, path := range []string{"/bin/true", "/nonexistent"} {
			if process, err := Start(&Command{Path: path, Args: []string{path}}, nil); err == nil {
				process.Wait()
			}
		}
	}
	run()
	before := openFiles(t)
	for range 20 {
		run()
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}
