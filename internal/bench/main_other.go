//go:build !linux

package main

import (
	"fmt"
	"os"
	"runtime"
)

func main() {
	fmt.Fprintln(os.Stderr, "bench: nothing to measure on "+runtime.GOOS+" yet")
	os.Exit(1)
}
