package cgroup

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/internal/golden"
)

// What a person reads when sessions cannot be made.
func TestRefusals(t *testing.T) {
	const own = "/sys/fs/cgroup/user.slice/user-1000.slice/session-1.scope"
	var b strings.Builder
	for _, tried := range [][]refusal{
		{{own, stepMake, syscall.EACCES, false}, {"/sys/fs/cgroup/user.slice", stepMake, syscall.EACCES, false}},
		{{own, stepMake, syscall.EROFS, false}},
		{{own, stepMake, syscall.EAGAIN, false}},
		{{own, stepMake, syscall.EIO, false}},
		{{own, stepJoin, syscall.EACCES, false}},
		{{own, stepJoin, syscall.EPERM, false}},
		{{own, stepJoin, syscall.ENOSYS, false}},
		{{own, stepJoin, syscall.EINVAL, false}},
		{{own, stepJoin, syscall.EAGAIN, false}},
		{{own, stepJoin, syscall.EOPNOTSUPP, false}},
		{{own, stepJoin, syscall.ENOENT, false}},
		{{own, stepJoin, 0, true}},
	} {
		err := refused(core.StageOpen, tried, &scopeRefusal{why: "WHY"})
		fmt.Fprintf(&b, "%s %s:\n%v\n\n", tried[0].step, errnoName(tried[0].errno), err)
		if err.Reason == "" || err.Remedy == "" || !errors.Is(err, err.Reason) {
			t.Errorf("%+v", err)
		}
		if errno := tried[0].errno; errno != 0 && !errors.Is(err, errno) {
			t.Errorf("%v is not %v", err, errno)
		}
	}
	golden.Compare(t, "refusals.golden", b.String())
}

func errnoName(errno syscall.Errno) string {
	if errno == 0 {
		return "killed"
	}
	return errno.Error()
}

func TestConstraints(t *testing.T) {
	var b strings.Builder
	for _, c := range []struct{ what, mounts string }{
		{"pure cgroup v2", unifiedMounts},
		{"hybrid", hybridMounts},
		{"two mounts in a container", containerMounts},
		{"none", noMounts},
	} {
		fmt.Fprintf(&b, "%s:\n", c.what)
		for _, c := range constraints(parseMountinfo([]byte(c.mounts)), 1000) {
			if c.Kind == core.NoWriteBelow {
				fmt.Fprintf(&b, "no write below %s: %s\n", c.Path, c.Why)
			}
		}
	}
	fmt.Fprintln(&b, "everywhere, for user 1000:")
	for _, c := range constraints(nil, 1000) {
		if c.Kind == core.NoConnect {
			fmt.Fprintf(&b, "no connect to %s: %s\n", c.Path, c.Why)
		}
	}
	golden.Compare(t, "constraints.golden", b.String())
}

func TestLimitsFindings(t *testing.T) {
	both := pidsController | memoryController
	v1 := v1Controllers(parseMountinfo([]byte(hybridMounts)))
	var b strings.Builder
	for _, f := range []core.Finding{
		limitsFinding(both, both, "", nil),
		limitsFinding(pidsController, pidsController, "", v1),
		limitsFinding(both, pidsController, "", nil),
		limitsFinding(both, 0, "", v1),
		limitsFinding(memoryController, 0, `the kernel refused the memory controller below "/x": device or resource busy`, nil),
	} {
		fmt.Fprintf(&b, "%v\n  by: %s\n  gap: %s\n  observed: %s\n  required: %s\n  remedy: %s\n", f.Level, f.Mechanism, f.Gap, f.Observed, f.Required, f.Remedy)
		if f.Level != core.Enforced && f.Gap == "" {
			t.Errorf("%+v", f)
		}
	}
	golden.Compare(t, "limits.golden", b.String())
}
