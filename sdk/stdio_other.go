//go:build !unix

package sdk

import "os"

var diagnostics = os.Stderr
