//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "guest: this program runs in a virtual machine with Linux only")
	os.Exit(1)
}
