package main

import (
	"fmt"
	"io"
	"path"
	"slices"
)

// archiveWriter writes a cpio archive of the format newc, as the kernel unpacks it (Documentation/driver-api/early-userspace/
// buffer-format.rst in its source). Everything in it belongs to root.
type archiveWriter struct {
	out   io.Writer
	inode int
	made  []string // directories
	err   error    // the first one; later writes do nothing
}

const (
	modeDirectory = 0o040000 // S_IFDIR
	modeFile      = 0o100000 // S_IFREG
)

// file adds a file and, before it, the directories above it.
func (w *archiveWriter) file(name string, permissions int, content []byte) {
	w.directory(path.Dir(name))
	w.entry(name, modeFile|permissions, content)
}

func (w *archiveWriter) directory(name string) {
	if name == "." || slices.Contains(w.made, name) {
		return
	}
	w.directory(path.Dir(name))
	w.made = append(w.made, name)
	w.entry(name, modeDirectory|0o755, nil)
}

func (w *archiveWriter) close() error {
	w.entry("TRAILER!!!", 0, nil)
	return w.err
}

func (w *archiveWriter) entry(name string, mode int, content []byte) {
	w.inode++
	// magic, inode, mode, uid, gid, links, time, size, device and special device (two fields each), length of name, checksum
	header := fmt.Sprintf("070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x",
		w.inode, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name)+1, 0)
	w.padded([]byte(header + name + "\x00"))
	w.padded(content)
}

// padded writes to the next multiple of four bytes.
func (w *archiveWriter) padded(data []byte) {
	for _, part := range [][]byte{data, make([]byte, -len(data)&3)} {
		if w.err == nil {
			_, w.err = w.out.Write(part)
		}
	}
}
