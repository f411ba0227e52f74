package cgroup

import "unsafe"

// readyAddress is computed before any fork.
var readyAddress = uintptr(unsafe.Pointer(&readyLine))
