//go:build !unix

package host

import "io/fs"

// ownedByMe cannot tell on this platform, and so says no.
func ownedByMe(fs.FileInfo) bool { return false }

// refusesConnections cannot tell on this platform, and so says no.
func refusesConnections(error) bool { return false }
