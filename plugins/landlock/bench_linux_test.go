package landlock

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
)

// BenchmarkPlan measures a plan of the preset workspace-write with more and more
// rules of its own, as a user plans it and as root, who gets /etc name by name.
func BenchmarkPlan(b *testing.B) {
	m, err := observeMachine()
	must(b, err)
	user, root := unprivileged(*m), *m
	root.capabilities |= 1 << unix.CAP_DAC_OVERRIDE
	b.Run("user", func(b *testing.B) { benchmarkPlan(b, confinerOn(user)) })
	b.Run("root", func(b *testing.B) { benchmarkPlan(b, confinerOn(&root)) })
}

func benchmarkPlan(b *testing.B, c *Confiner) {
	for _, rules := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprintf("rules=%d", rules), func(b *testing.B) {
			dir := b.TempDir()
			p := core.WorkspaceWrite(dir)
			p.Filesystem.Rules = dropHome(p.Filesystem.Rules)
			for i := len(p.Filesystem.Rules); i < rules; i++ {
				path := filepath.Join(dir, fmt.Sprintf("file%d", i))
				must(b, os.WriteFile(path, nil, 0o600))
				p.Filesystem.Rules = append(p.Filesystem.Rules, core.PathRule{Path: path, Access: core.Read})
			}
			req := &core.PlanRequest{Session: core.NewSessionID(), Policy: p}
			b.ReportAllocs()
			for b.Loop() {
				plan, err := c.Plan(b.Context(), req)
				must(b, err)
				plan.Close()
			}
		})
	}
}
