//go:build !unix

package backend

import "io/fs"

// ownedSafely cannot tell on this platform, and so says no.
func ownedSafely(fs.FileInfo) bool { return false }
