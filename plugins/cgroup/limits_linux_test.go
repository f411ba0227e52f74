package cgroup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pinfold/pinfold/core"
)

// Limits hold where cgroup v2 has the controllers, and the report says so where
// it has not. The session is the same otherwise.
func TestLimits(t *testing.T) {
	tr := tracker(t)
	req := request(t)
	req.Limits = core.LimitsPolicy{Processes: 12, Memory: 64 << 20}
	o, err := tr.Open(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Birth.Close()
	defer tr.Close(ctx, o.Handle)
	again, err := tr.Open(ctx, req)
	if err != nil || !equal(again.Handle, o.Handle) {
		t.Fatalf("opened again: %+v, %v", again, err)
	}
	again.Birth.Close()

	f := o.Enforcement.Dimension(core.Limits)
	if f == nil {
		t.Fatal("no finding")
	}
	t.Logf("%+v", *f)
	capability, err := tr.Probe(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if probed := capability.Findings[1]; probed.Level != f.Level {
		t.Errorf("Probe says %+v", probed)
	}
	directory := string(o.Handle.Data)
	available, err := os.ReadFile(filepath.Join(directory, "cgroup.controllers"))
	if err != nil {
		t.Fatal(err)
	}
	got := parseControllers(available)
	if (f.Level == core.Enforced) != (got.count() == 2) {
		t.Errorf("the cgroup has the controllers %q, and the finding is %v", available, f.Level)
	}
	if got&pidsController != 0 {
		start(t, o, "many", "100")
		if n := members(t, tr, o); n > 12 {
			t.Errorf("%d processes with a limit of 12", n)
		}
	}
	if got&memoryController != 0 {
		text, err := os.ReadFile(filepath.Join(directory, "memory.max"))
		if err != nil || strings.TrimSpace(string(text)) != "67108864" {
			t.Errorf("memory.max is %q, %v", text, err)
		}
	}
	// Control: without limits as many processes as you like.
	free := open(t, tr)
	if free.Enforcement.Dimension(core.Limits) != nil {
		t.Error("a finding for limits that nobody asked for")
	}
	start(t, free, "many", "100")
	if n := members(t, tr, free); n != 101 {
		t.Errorf("%d processes without a limit, want 101", n)
	}
}
