//go:build amd64 || arm64

package birth

import (
	"encoding/binary"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
)

// The structures and flag sets of the mount calls.
var (
	// struct mount_attr {attr_set, attr_clr, propagation, userns_fd}.
	readOnly  = buf(words(unix.MOUNT_ATTR_RDONLY, 0, 0, 0), "{MOUNT_ATTR_RDONLY}")
	bareMount = sym(bare, "NOSUID|NODEV|NOEXEC")
	attrSize  = num(32)

	// struct open_how {flags, mode, resolve}: a path in which no component may
	// be a symbolic link. O_NOFOLLOW would let the last one be.
	strictPath = buf(words(unix.O_PATH|unix.O_CLOEXEC, 0, unix.RESOLVE_NO_SYMLINKS),
		"{O_PATH|O_CLOEXEC, RESOLVE_NO_SYMLINKS}")
	howSize = num(24)

	emptyPath = str("")
	attrFlags = sym(unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, "AT_EMPTY_PATH|AT_RECURSIVE")
	treeFlags = sym(unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|unix.AT_RECURSIVE,
		"OPEN_TREE_CLONE|OPEN_TREE_CLOEXEC|AT_EMPTY_PATH|AT_RECURSIVE")
	nodeFlags = sym(unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC, "OPEN_TREE_CLONE|OPEN_TREE_CLOEXEC")
	moveFlags = sym(unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH, "F_EMPTY_PATH|T_EMPTY_PATH")
)

const bare = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC

func words(values ...uint64) []byte {
	var b []byte
	for _, v := range values {
		b = binary.NativeEndian.AppendUint64(b, v)
	}
	return b
}

// mounts cuts the new mount namespace off from the old one, then takes what the
// binds show, all before the first mount so that a mount cannot hide it, and
// then mounts in order.
func (p *compiler) mounts() error {
	if p.birth.Namespaces&core.NamespaceMount == 0 {
		return nil
	}
	p.add(sysMount, null, str("/"), null, sym(unix.MS_REC|unix.MS_PRIVATE, "MS_REC|MS_PRIVATE"), null)
	trees := make([]int, len(p.birth.Mounts))
	for i, m := range p.birth.Mounts {
		if m.Kind == core.MountBind && m.Target != "/" {
			trees[i] = p.tree(m)
		}
	}
	hidden, err := p.hidden()
	if err != nil {
		return err
	}
	for i, m := range p.birth.Mounts {
		p.at("mount "+m.Target, m.Target)
		switch {
		case m.Target == "/":
			p.add(sysMountSetattr, here, str("/"), sym(unix.AT_RECURSIVE, "AT_RECURSIVE"), readOnly, attrSize)
		case m.Kind == core.MountBind:
			p.attach(trees[i], m.Target)
		case m.Kind == core.MountEmpty:
			p.attach(hidden[i], m.Target)
		case m.Kind == core.MountProc:
			p.attach(p.proc(m), m.Target)
		}
	}
	return nil
}

// strict opens a path of which no component may be a symbolic link.
func (p *compiler) strict(path string) int {
	return p.add(sysOpenat2, here, str(path), strictPath, howSize)
}

// tree clones the mounts at and below the source. A recursive read-only flag
// leaves the other flags, which a user namespace may have locked, as they are.
func (p *compiler) tree(m core.Mount) int {
	p.at("mount "+m.Target, m.Source)
	tree := p.add(sysOpenTree, of(p.strict(m.Source)), emptyPath, treeFlags)
	if m.ReadOnly {
		p.add(sysMountSetattr, of(tree), emptyPath, attrFlags, readOnly, attrSize)
	}
	return tree
}

func (p *compiler) attach(tree int, target string) {
	p.add(sysMoveMount, of(tree), emptyPath, of(p.strict(target)), emptyPath, moveFlags)
}

func (p *compiler) proc(m core.Mount) int {
	flags := bareMount
	if m.ReadOnly {
		flags = sym(bare|unix.MOUNT_ATTR_RDONLY, "RDONLY|NOSUID|NODEV|NOEXEC")
	}
	_, mount := p.filesystem("proc", flags)
	return mount
}

// filesystem creates a new filesystem and a mount of it that is attached nowhere
// yet.
func (p *compiler) filesystem(name string, flags arg) (context, mount int) {
	context = p.add(sysFsopen, str(name), sym(unix.FSOPEN_CLOEXEC, "FSOPEN_CLOEXEC"))
	p.add(sysFsconfig, of(context), sym(unix.FSCONFIG_CMD_CREATE, "FSCONFIG_CMD_CREATE"), null, null, num(0))
	return context, p.add(sysFsmount, of(context), sym(unix.FSMOUNT_CLOEXEC, "FSMOUNT_CLOEXEC"), flags)
}

// hidden prepares what hides the targets of MountEmpty: clones of an empty
// directory and an empty file without permissions, in a tmpfs that is made
// read-only as a whole.
// A clone can only be taken from a mount that is attached somewhere (before
// Linux 6.15), so the tmpfs spends that moment on the root directory, where the
// child, whose root is below, does not see it, and is then detached.
func (p *compiler) hidden() ([]int, error) {
	nodes := make([]int, len(p.birth.Mounts))
	fs := -1
	for i, m := range p.birth.Mounts {
		if m.Kind != core.MountEmpty {
			continue
		}
		if fs < 0 {
			fs = p.emptyNodes(m.Target)
		}
		// If the target changes its type from now on, the kernel refuses to
		// mount the one on the other.
		info, err := os.Lstat(m.Target)
		if err != nil {
			errno, _ := err.(*os.PathError).Err.(syscall.Errno)
			return nil, &Error{Step: "mount " + m.Target, Index: -1, Call: "lstat", Path: m.Target, Errno: errno}
		}
		node := "file"
		if info.IsDir() {
			node = "directory"
		}
		p.at("mount "+m.Target, m.Target)
		nodes[i] = p.add(sysOpenTree, of(fs), str(node), nodeFlags)
	}
	if fs >= 0 {
		p.add(sysFchdir, of(fs))
		p.add(sysUmount, str("."), sym(unix.MNT_DETACH, "MNT_DETACH"))
	}
	return nodes, nil
}

func (p *compiler) emptyNodes(target string) int {
	p.at("mount "+target, target)
	context, fs := p.filesystem("tmpfs", bareMount)
	p.attach(fs, "/")
	p.add(sysMkdirat, of(fs), str("directory"), num(0))
	p.add(sysMknodat, of(fs), str("file"), sym(unix.S_IFREG, "S_IFREG"), num(0))
	p.add(sysFsconfig, of(context), sym(unix.FSCONFIG_SET_FLAG, "FSCONFIG_SET_FLAG"), str("ro"), null, num(0))
	p.add(sysFsconfig, of(context), sym(unix.FSCONFIG_CMD_RECONFIGURE, "FSCONFIG_CMD_RECONFIGURE"), null, null, num(0))
	return fs
}
