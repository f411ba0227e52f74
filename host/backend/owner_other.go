//go:build !unix

package backend

import "io/fs"

// writableByOthers cannot tell on this platform, and so says yes.
func writableByOthers(fs.FileInfo) bool { return true }

// ownedSafely cannot tell on this platform, and so says no.
func ownedSafely(fs.FileInfo) bool { return false }
