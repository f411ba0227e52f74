package landlock

import (
	"errors"
	"runtime"
	"testing"

	"github.com/pinfold/pinfold/core"
)

func TestDescribe(t *testing.T) {
	d, err := New().Describe(t.Context())
	if err != nil || d.Name != Name || d.Version != Version || len(d.Features) != 4 {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestElsewhere: other systems are told so, and nothing pretends to confine.
func TestElsewhere(t *testing.T) {
	if runtime.GOOS == "linux" {
		t.Skip("this is Linux")
	}
	plan, err := New().Plan(t.Context(), &core.PlanRequest{Policy: core.WorkspaceWrite("/w")})
	if plan != nil || !errors.Is(err, core.ErrUnsupported) {
		t.Errorf("%v, %v", plan, err)
	}
	if _, err := New().Probe(t.Context()); !errors.Is(err, core.ErrUnsupported) {
		t.Error(err)
	}
}
