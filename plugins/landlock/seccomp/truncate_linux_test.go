package seccomp

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// accessBelowABI3 are the filesystem rights of Landlock ABI 2: all but
// truncation. A ruleset that handles just these leaves a newer kernel in the
// state of an older one.
const accessBelowABI3 = unix.LANDLOCK_ACCESS_FS_TRUNCATE - 1

// landlockAsABI2 lets the calling thread read everywhere, and write below dir.
func landlockAsABI2(dir string) error {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: accessBelowABI3}
	ruleset, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return errno
	}
	defer unix.Close(int(ruleset))
	for path, access := range map[string]uint64{
		"/": unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR | unix.LANDLOCK_ACCESS_FS_EXECUTE,
		dir: accessBelowABI3,
	} {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		rule := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
		_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, ruleset, unix.LANDLOCK_RULE_PATH_BENEATH,
			uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
		unix.Close(fd)
		if errno != 0 {
			return errno
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	_, _, errno = unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// atCWD is AT_FDCWD in a register.
var atCWD = func() uintptr { fd := unix.AT_FDCWD; return uintptr(fd) }()

// waysToTruncate each try to empty the file.
var waysToTruncate = []struct {
	name string
	try  func(path string) error
}{
	{"truncate", func(path string) error { return unix.Truncate(path, 0) }},
	{"openat O_RDONLY", openAndClose(unix.O_RDONLY | unix.O_TRUNC)},
	{"openat access mode 3", openAndClose(3 | unix.O_TRUNC)},
	{"openat O_WRONLY", openAndClose(unix.O_WRONLY | unix.O_TRUNC)},
	{"openat O_RDWR", openAndClose(unix.O_RDWR | unix.O_TRUNC)},
	{"openat garbage above", func(path string) error {
		fd, errno := rawCall("openat", atCWD, cString(path), unix.O_TRUNC|upperHalf)
		if errno != 0 {
			return errno
		}
		return unix.Close(int(fd))
	}},
	{"openat2", func(path string) error {
		fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_TRUNC})
		if err != nil {
			return err
		}
		return unix.Close(fd)
	}},
	{"ftruncate", func(path string) error {
		fd, err := unix.Open(path, unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Ftruncate(fd, 0)
	}},
}

func openAndClose(flags int) func(string) error {
	return func(path string) error {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		return unix.Close(fd)
	}
}

func init() {
	tasks["truncate"] = func(args []string) results {
		r := make(results)
		if err := landlockAsABI2(args[1]); err != nil {
			return results{"landlock": result(err)}
		}
		for i, way := range waysToTruncate {
			r[way.name] = result(way.try(filepath.Join(args[0], fmt.Sprint(i))))
		}
		inside := filepath.Join(args[1], "file")
		r["write inside"] = result(os.WriteFile(inside, []byte("text"), 0o600))
		r["empty inside"] = result(os.WriteFile(inside, nil, 0o600))
		r["read outside"] = result(openAndClose(unix.O_RDONLY)(filepath.Join(args[0], "0")))
		return r
	}
}

// TestTruncate: under Landlock without the right to truncate, files that may
// only be read keep their content, and those that may be written can be emptied.
func TestTruncate(t *testing.T) {
	requireSeccomp(t)
	emptied := func(closed bool) (ways []string, r results) {
		readOnly, writable := t.TempDir(), t.TempDir()
		for i := range waysToTruncate {
			if err := os.WriteFile(filepath.Join(readOnly, fmt.Sprint(i)), []byte("precious"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		r = inChild(t, job{Task: "truncate", Args: []string{readOnly, writable}, Options: Options{CloseTruncate: closed}})
		if r["landlock"] != "" {
			t.Skipf("no Landlock: %s", r["landlock"])
		}
		for i, way := range waysToTruncate {
			info, err := os.Stat(filepath.Join(readOnly, fmt.Sprint(i)))
			if err != nil {
				t.Fatal(err)
			}
			if info.Size() == 0 {
				ways = append(ways, way.name)
			}
		}
		return ways, r
	}
	ways, control := emptied(false)
	t.Logf("Landlock as of ABI 2 lets a read-only file be emptied by %q", ways)
	if len(ways) == 0 {
		t.Errorf("the control emptied nothing: %v", control)
	}
	ways, closed := emptied(true)
	if len(ways) != 0 {
		t.Errorf("with the filter still by %q", ways)
	}
	expected := results{
		"truncate": "EACCES", "openat O_RDONLY": "EACCES", "openat access mode 3": "EACCES",
		"openat garbage above": "EACCES", "openat2": "ENOSYS",
		"write inside": "ok", "empty inside": "ok", "read outside": "ok",
	}
	for name, want := range expected {
		if closed[name] != want {
			t.Errorf("%s: %s, want %s", name, closed[name], want)
		}
	}
}
