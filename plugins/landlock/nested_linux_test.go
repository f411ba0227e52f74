package landlock

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/pinfold/pinfold/core"
)

// TestNested observes the machine from inside of a plan: what the outer session
// refuses, the inner one must not count on.
func TestNested(t *testing.T) {
	needMounts(t)
	r := launch(t, command{plan: mustPlan(t, New(), workspacePolicy(t, t.TempDir())), argv: []string{testBinary(t)},
		env: append(os.Environ(), stageVariable+"="+stageObserve)})
	var inner struct {
		Mounter  bool
		Landlock int
		Findings []core.Finding
	}
	if err := json.Unmarshal([]byte(r.stdout), &inner); err != nil {
		t.Fatalf("%v\n%s\n%s", err, r.stdout, r.stderr)
	}
	m, err := observeMachine()
	must(t, err)
	if !m.mounter || inner.Mounter {
		t.Errorf("denials by mounts: outside %v, inside %v", m.mounter, inner.Mounter)
	}
	if inner.Landlock != m.kernelABI || len(inner.Findings) == 0 {
		t.Errorf("inside: Landlock %d, %d findings", inner.Landlock, len(inner.Findings))
	}
}

const stageObserve = "observe"

// printObservation is the child of TestNested.
func printObservation() int {
	m, err := observeMachine()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	p := core.WorkspaceWrite("/")
	err = json.NewEncoder(os.Stdout).Encode(map[string]any{
		"Mounter": m.mounter, "Landlock": m.kernelABI, "Findings": newDesign(m, &p).findings(),
	})
	if err != nil {
		return 1
	}
	return 0
}
