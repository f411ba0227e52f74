package host

import (
	"fmt"
	"slices"

	"github.com/pinfold/pinfold/core"
)

// merge combines the tracker's and the confiner's part of a birth. A field that
// holds one thing has one owner; two backends that claim it are a mistake that
// nothing here could settle.
func merge(tracker, confiner *core.Birth) (*core.Birth, error) {
	conflict := func(field string) error {
		return &core.Error{
			Reason: core.ErrInternal, Stage: core.StageCheck,
			Detail: fmt.Sprintf("the tracker and the confiner both set the %s of the birth", field),
			Remedy: "use backends that go together",
		}
	}
	merged := &core.Birth{
		Cgroup:           tracker.Cgroup,
		Namespaces:       tracker.Namespaces | confiner.Namespaces,
		Mounts:           slices.Concat(tracker.Mounts, confiner.Mounts),
		Limits:           slices.Concat(tracker.Limits, confiner.Limits),
		DropCapabilities: tracker.DropCapabilities | confiner.DropCapabilities,
		NoNewPrivileges:  tracker.NoNewPrivileges || confiner.NoNewPrivileges,
		Landlock:         slices.Concat(tracker.Landlock, confiner.Landlock),
		Seccomp:          slices.Concat(tracker.Seccomp, confiner.Seccomp),
	}
	if confiner.Cgroup != nil {
		if tracker.Cgroup != nil {
			return nil, conflict("cgroup")
		}
		merged.Cgroup = confiner.Cgroup
	}
	if len(tracker.Mounts) > 0 && len(confiner.Mounts) > 0 {
		return nil, conflict("mounts")
	}
	seen := map[core.Resource]bool{}
	for _, limit := range merged.Limits {
		if seen[limit.Resource] {
			return nil, conflict("resource limits")
		}
		seen[limit.Resource] = true
	}
	return merged, nil
}
