// Package mixed has a test of every outcome.
package mixed

import "testing"

func TestPasses(t *testing.T) { t.Log("nobody needs to read this") }

func TestFails(t *testing.T) {
	t.Run("good", func(t *testing.T) { t.Log("nor this") })
	t.Run("bad", func(t *testing.T) { t.Error("the reason of the failure\nin two lines") })
}

func TestSkips(t *testing.T) { t.Skip("the kernel has no\nsuch thing") }

func TestSkipsInside(t *testing.T) {
	t.Run("one", func(t *testing.T) {})
	t.Run("two", func(t *testing.T) { t.SkipNow() })
}
