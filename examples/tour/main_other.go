//go:build !unix

package main

import (
	"fmt"
	"os"
	"runtime"
)

func main() {
	fmt.Fprintln(os.Stderr, "tour: nothing to show on "+runtime.GOOS)
	os.Exit(1)
}
