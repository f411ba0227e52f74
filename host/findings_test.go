package host

import (
	"slices"
	"testing"

	"github.com/pinfold/pinfold/core"
)

func TestJoinFindings(t *testing.T) {
	network := core.Finding{Dimension: core.Network, Level: core.Enforced, Mechanism: "a filter"}
	session := core.Finding{Dimension: core.Limits, Level: core.Partial, Mechanism: "cgroup", Gap: "memory is not bounded",
		Observed: "no controller", Required: "the memory controller", Remedy: "delegate it"}
	process := core.Finding{Dimension: core.Limits, Level: core.Enforced, Mechanism: "resource limits"}
	both := session
	both.Mechanism = "cgroup, resource limits"
	worse := core.Finding{Dimension: core.Limits, Level: core.Unsupported, Gap: "nothing is bounded", Remedy: "delegate it"}
	all := session
	all.Level, all.Gap = core.Unsupported, "memory is not bounded; nothing is bounded"
	for name, c := range map[string]struct{ findings, want []core.Finding }{
		"none":                  {nil, nil},
		"in order":              {[]core.Finding{process, network}, []core.Finding{network, process}},
		"the worst level":       {[]core.Finding{session, process}, []core.Finding{both}},
		"both gaps":             {[]core.Finding{session, worse}, []core.Finding{all}},
		"the same said once":    {[]core.Finding{session, session}, []core.Finding{session}},
		"beside other findings": {[]core.Finding{session, network, process}, []core.Finding{network, both}},
	} {
		if got := JoinFindings(c.findings); !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	if session.Mechanism != "cgroup" {
		t.Error("the argument was changed")
	}
}

// TestEnforcementJoinsLimits: a session's report has one finding about the limits.
func TestEnforcementJoinsLimits(t *testing.T) {
	p := core.Unrestricted("/w")
	p.Limits.NoCore = true
	p.Require = []core.Dimension{core.Limits}
	of := func(level core.Level, gap string) core.Enforcement {
		return core.Enforcement{Dimensions: []core.Finding{{Dimension: core.Limits, Level: level, Gap: gap}}}
	}
	for _, tracker := range []core.Level{core.Enforced, core.Partial} {
		e := enforcement(&p, &core.Opened{Enforcement: of(tracker, "")}, &core.Plan{Enforcement: of(core.Partial, "the gap")})
		f := e.Dimension(core.Limits)
		if f == nil || f.Level != core.Partial || f.Gap != "the gap" || check(&p, &e) == nil {
			t.Errorf("tracker %v, confiner partial: %+v", tracker, f)
		}
	}
}
