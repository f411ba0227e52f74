//go:build !linux

package main

// embedded are the backends that this program serves by itself: none is written
// for this platform.
var embedded = map[string]func(){}
