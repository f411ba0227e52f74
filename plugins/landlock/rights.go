//go:build linux

package landlock

import (
	"github.com/landlock-lsm/go-landlock/landlock/syscall"

	"github.com/pinfold/pinfold/core"
)

// What the accesses of a policy are in Landlock's terms.
//
// Making device nodes (MAKE_CHAR, MAKE_BLOCK) is in none of them: it is handled,
// and never granted. REFER goes with writing because moving a file between two
// directories of one grant is writing; the kernel itself refuses a move by which
// the file would gain any right. IOCTL_DEV goes with writing too, but on devices
// only, see [fsRights].
const (
	readRights  = syscall.AccessFSReadFile | syscall.AccessFSReadDir
	writeRights = syscall.AccessFSWriteFile | syscall.AccessFSTruncate | syscall.AccessFSRefer |
		syscall.AccessFSRemoveDir | syscall.AccessFSRemoveFile |
		syscall.AccessFSMakeDir | syscall.AccessFSMakeReg | syscall.AccessFSMakeSym |
		syscall.AccessFSMakeSock | syscall.AccessFSMakeFifo
	executeRights = syscall.AccessFSExecute

	// fileRights are those that a rule about something other than a directory
	// may have. The kernel answers EINVAL to any other.
	fileRights = syscall.AccessFSExecute | syscall.AccessFSWriteFile | syscall.AccessFSReadFile |
		syscall.AccessFSTruncate | syscall.AccessFSIoctlDev | syscall.AccessFSResolveUnix
)

// fsRights are the rights of a rule that grants access to an object. ioctls are
// granted with writing where devices are meant: on a device node and on /dev and
// what is above and below it. A directory of ordinary files has no use for them.
func fsRights(access core.Access, o object) uint64 {
	var r uint64
	if access&core.Read != 0 {
		r |= readRights
	}
	if access&core.Write != 0 {
		r |= writeRights
		if o.device || within("/dev", o.place) || within(o.place, "/dev") {
			r |= syscall.AccessFSIoctlDev
		}
	}
	if access&core.Execute != 0 {
		r |= executeRights
	}
	if !o.dir {
		r &= fileRights
	}
	return r
}

// An object is what was found at a path.
type object struct {
	// place is its absolute path, free of symbolic links.
	place  string
	id     fileID
	dir    bool
	device bool
	socket bool
	// public: its permission bits let everybody read it.
	public bool
	links  uint64
}

// A fileID tells objects of this machine apart.
type fileID struct{ dev, ino uint64 }

var fsRightNames = []string{
	"execute", "write_file", "read_file", "read_dir", "remove_dir", "remove_file", "make_char", "make_dir",
	"make_reg", "make_sock", "make_fifo", "make_block", "make_sym", "refer", "truncate", "ioctl_dev", "resolve_unix",
}

var netRightNames = []string{"bind_tcp", "connect_tcp", "bind_udp", "connect_send_udp"}

var scopeNames = []string{"abstract_unix_socket", "signal"}

// bitNames joins the names of the bits that are set.
func bitNames(bits uint64, names []string) string {
	if bits == 0 {
		return "none"
	}
	text := make([]byte, 0, 256)
	for i, name := range names {
		if bits&(1<<i) != 0 {
			text = append(append(text, name...), ' ')
		}
	}
	return string(text[:len(text)-1])
}

// within reports whether path is dir or below it. Both are absolute and clean.
func within(path, dir string) bool {
	if dir == "/" || path == dir {
		return true
	}
	return len(path) > len(dir) && path[:len(dir)] == dir && path[len(dir)] == '/'
}
