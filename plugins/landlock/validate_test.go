//go:build linux

package landlock

import (
	"errors"
	"testing"

	"github.com/pinfold/pinfold/core"
)

// TestValidate: what cannot be understood is refused before anything is looked at,
// by the class of the mistake.
func TestValidate(t *testing.T) {
	rule := func(r core.PathRule) func(*core.PlanRequest) {
		return func(q *core.PlanRequest) { q.Policy.Filesystem.Rules = append(q.Policy.Filesystem.Rules, r) }
	}
	for _, test := range []struct {
		name   string
		change func(*core.PlanRequest)
		want   core.Reason
		path   string
	}{
		{"nothing wrong", func(*core.PlanRequest) {}, "", ""},
		{"relative path", rule(core.PathRule{Path: "a", Access: core.Read}), core.ErrInvalidPolicy, "a"},
		{"empty path", rule(core.PathRule{Access: core.Read}), core.ErrInvalidPolicy, ""},
		{"dots", rule(core.PathRule{Path: "/a/../b", Access: core.Read}), core.ErrInvalidPolicy, "/a/../b"},
		{"two slashes", rule(core.PathRule{Path: "/a//b", Access: core.Read}), core.ErrInvalidPolicy, "/a//b"},
		{"slash at the end", rule(core.PathRule{Path: "/a/", Access: core.Read}), core.ErrInvalidPolicy, "/a/"},
		{"NUL", rule(core.PathRule{Path: "/a\x00b", Access: core.Read}), core.ErrInvalidPolicy, "/a\x00b"},
		{"own process", rule(core.PathRule{Path: "/proc/self/root", Access: core.Read}), core.ErrInvalidPolicy, "/proc/self/root"},
		{"no access", rule(core.PathRule{Path: "/a"}), core.ErrInvalidPolicy, "/a"},
		{"unknown access", rule(core.PathRule{Path: "/a", Access: 1 << 7}), core.ErrUnknownFeature, ""},
		{"the root", rule(core.PathRule{Path: "/", Access: core.Read}), "", ""},
		{"rules without confinement", func(q *core.PlanRequest) { q.Policy.Filesystem.Confined = false }, core.ErrInvalidPolicy, ""},
		{"no network mode", func(q *core.PlanRequest) { q.Policy.Network.Mode = 0 }, core.ErrInvalidPolicy, ""},
		{"unknown network mode", func(q *core.PlanRequest) { q.Policy.Network.Mode = 9 }, core.ErrUnknownFeature, ""},
		{"ports in another mode", func(q *core.PlanRequest) { q.Policy.Network.Bind = []uint16{80} }, core.ErrInvalidPolicy, ""},
		{"port 0 to connect", func(q *core.PlanRequest) {
			q.Policy.Network = core.NetworkPolicy{Mode: core.NetworkPorts, Connect: []uint16{0}}
		}, core.ErrInvalidPolicy, ""},
		{"no unix mode", func(q *core.PlanRequest) { q.Policy.Unix.Mode = 0 }, core.ErrInvalidPolicy, ""},
		{"unknown unix mode", func(q *core.PlanRequest) { q.Policy.Unix.Mode = 9 }, core.ErrUnknownFeature, ""},
		{"sockets unconfined", func(q *core.PlanRequest) {
			q.Policy.Unix = core.UnixPolicy{Mode: core.UnixUnconfined, Connect: []string{"/a"}}
		}, core.ErrInvalidPolicy, ""},
		{"relative socket", func(q *core.PlanRequest) { q.Policy.Unix.Connect = []string{"a"} }, core.ErrInvalidPolicy, "a"},
		{"unknown dimension", func(q *core.PlanRequest) { q.Policy.Require = []core.Dimension{"x"} }, core.ErrUnknownFeature, ""},
		{"a contribution", func(q *core.PlanRequest) { q.Contributions = []core.Contribution{{Dialect: "seatbelt/sbpl@1"}} }, core.ErrUnknownFeature, ""},
		{"an unknown constraint", func(q *core.PlanRequest) { q.Constraints = []core.Constraint{{Kind: 9, Path: "/a"}} }, core.ErrUnknownFeature, ""},
		{"a relative constraint", func(q *core.PlanRequest) { q.Constraints = []core.Constraint{{Kind: core.NoConnect, Path: "a"}} }, core.ErrInvalidPolicy, "a"},
	} {
		t.Run(test.name, func(t *testing.T) {
			req := &core.PlanRequest{Policy: core.WorkspaceWrite("/w")}
			req.Policy.Filesystem.Rules = req.Policy.Filesystem.Rules[len(req.Policy.Filesystem.Rules)-1:]
			test.change(req)
			err := validate(req)
			var e *core.Error
			if got := core.ReasonOf(err); got != test.want || err != nil && !errors.As(err, &e) || e != nil && e.Path != test.path {
				t.Errorf("%q, %+v", got, err)
			}
		})
	}
}
