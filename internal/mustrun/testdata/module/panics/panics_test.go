// Package panics dies in the middle of a test.
package panics

import "testing"

func TestBefore(t *testing.T) {}

func TestPanics(t *testing.T) { panic("out of the blue") }

func TestNeverReached(t *testing.T) {}
