package wire

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/pinfold/pinfold/core"
	pb "github.com/pinfold/pinfold/core/backendpb"
)

func wantReason(t *testing.T, what string, err error, reason core.Reason) {
	t.Helper()
	if core.ReasonOf(err) != reason {
		t.Errorf("%s: got error %v, want reason %q", what, err, string(reason))
	}
}

// deepen calls f with m and each kind of message that can be within it, all of
// them set once.
func deepen(m protoreflect.Message, path string, f func(m protoreflect.Message, path string)) {
	f(m, path)
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		if field.Message() == nil {
			continue
		}
		within := path + "." + string(field.Name())
		if field.IsList() {
			deepen(m.Mutable(field).List().AppendMutable().Message(), within, f)
		} else {
			deepen(m.Mutable(field).Message(), within, f)
		}
	}
}

// Every message of the contract refuses a field that it does not know, at every
// depth. The control is the message without the field.
func TestUnknownFieldsAreRefusedAtEveryDepth(t *testing.T) {
	unknown := protowire.AppendVarint(protowire.AppendTag(nil, 15_000, protowire.VarintType), 1)
	places, kinds := 0, messages(t)
	for kind, root := range kinds {
		fields := root.Descriptor().Fields()
		for i := range fields.Len() {
			if fields.Get(i).IsMap() {
				t.Fatalf("%s is a map, which CheckUnderstood does not walk", fields.Get(i).FullName())
			}
		}
		deepen(root, kind, func(at protoreflect.Message, path string) {
			places++
			if err := CheckUnderstood(crossed(t, root)); err != nil {
				t.Errorf("%s as it should be: %v", path, err)
			}
			at.SetUnknown(unknown)
			err := CheckUnderstood(crossed(t, root))
			wantReason(t, path, err, core.ErrUnknownFeature)
			if err != nil && !strings.Contains(err.Error(), string(at.Descriptor().Name())) {
				t.Errorf("%s: the error does not name the message: %v", path, err)
			}
			at.SetUnknown(nil)
		})
	}
	if len(kinds) < 40 || places < 2*len(kinds) {
		t.Errorf("only %d places in %d messages", places, len(kinds))
	}
}

// messages returns an empty message of each kind in the contract, by its name.
func messages(t *testing.T) map[string]protoreflect.Message {
	t.Helper()
	all := map[string]protoreflect.Message{}
	protoregistry.GlobalTypes.RangeMessages(func(kind protoreflect.MessageType) bool {
		if kind.Descriptor().ParentFile().Package() == (&pb.Policy{}).ProtoReflect().Descriptor().ParentFile().Package() {
			all[string(kind.Descriptor().Name())] = kind.New()
		}
		return true
	})
	return all
}

// crossed encodes and decodes m.
func crossed(t *testing.T, m protoreflect.Message) proto.Message {
	t.Helper()
	raw, err := proto.Marshal(m.Interface())
	if err != nil {
		t.Fatal(err)
	}
	out := m.New().Interface()
	if err := proto.Unmarshal(raw, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// Zero, one past the last and far off are refused for every enumeration; what
// lies between is read.
func TestEnumerationValues(t *testing.T) {
	ctx := context.Background()
	none := &post{}
	for name, c := range map[string]struct {
		last int32
		read func(int32) error
	}{
		"network mode": {4, func(v int32) error {
			m := FromPolicy(new(core.ReadOnly("/w")))
			m.Filesystem.Rules, m.Network.Mode = nil, pb.NetworkMode(v)
			_, err := ToPolicy(m)
			return err
		}},
		"unix mode": {2, func(v int32) error {
			m := FromPolicy(new(core.ReadOnly("/w")))
			m.Filesystem.Rules, m.Unix.Mode = nil, pb.UnixMode(v)
			_, err := ToPolicy(m)
			return err
		}},
		"accesses": {7, func(v int32) error {
			_, err := toPathRule(&pb.PathRule{Path: []byte("/"), Access: uint32(v)})
			return err
		}},
		"constraint": {2, func(v int32) error {
			_, err := toConstraint(&pb.Constraint{Kind: pb.ConstraintKind(v), Path: []byte("/")})
			return err
		}},
		"level": {4, func(v int32) error {
			_, err := toFinding(&pb.Finding{Dimension: "network", Level: pb.Level(v), Gap: "g"})
			return err
		}},
		"outcome": {3, func(v int32) error {
			_, err := ToKillReport(&pb.KillReport{Outcome: pb.Outcome(v)})
			return err
		}},
		"mount": {3, func(v int32) error {
			_, err := ToBirth(ctx, &pb.Birth{Mounts: []*pb.Mount{{Kind: pb.MountKind(v)}}}, none)
			return err
		}},
		"resource": {6, func(v int32) error {
			_, err := ToBirth(ctx, &pb.Birth{Limits: []*pb.ResourceLimit{{Resource: pb.Resource(v)}}}, none)
			return err
		}},
	} {
		for v := int32(1); v <= c.last; v++ {
			if err := c.read(v); err != nil {
				t.Errorf("%s %d: %v", name, v, err)
			}
		}
		for _, v := range []int32{0, c.last + 1, -1, math.MaxInt32, math.MinInt32} {
			wantReason(t, fmt.Sprintf("%s %d", name, v), c.read(v), core.ErrUnknownFeature)
		}
	}
	_, err := ToBirth(ctx, &pb.Birth{Namespaces: 32}, none)
	wantReason(t, "namespaces", err, core.ErrUnknownFeature)
	for _, dimension := range []string{"", "fs", "network "} {
		_, err := toFinding(&pb.Finding{Dimension: dimension, Level: pb.Level_LEVEL_ENFORCED})
		wantReason(t, "dimension "+dimension, err, core.ErrUnknownFeature)
	}
}

func TestMalformedMessages(t *testing.T) {
	ctx := context.Background()
	id := core.NewSessionID().String()
	policy := func(change func(*pb.Policy)) func() error {
		return func() error {
			m := FromPolicy(new(core.ReadOnly("/w")))
			m.Filesystem.Rules = nil
			change(m)
			_, err := ToPolicy(m)
			return err
		}
	}
	birth := func(m *pb.Birth) func() error {
		return func() error {
			_, err := ToBirth(ctx, m, &post{})
			return err
		}
	}
	rule := func(path string) func() error {
		return func() error {
			_, err := toPathRule(&pb.PathRule{Path: []byte(path), Access: 1})
			return err
		}
	}
	process := func(pid, parent int32) func() error {
		return func() error {
			_, err := ToProcess(&pb.Process{Pid: pid, Parent: parent})
			return err
		}
	}
	owner := &pb.Owner{Pid: 1}
	for name, read := range map[string]func() error{
		"no policy":       func() error { _, err := ToPolicy(nil); return err },
		"no filesystem":   policy(func(m *pb.Policy) { m.Filesystem = nil }),
		"no network":      policy(func(m *pb.Policy) { m.Network = nil }),
		"no unix":         policy(func(m *pb.Policy) { m.Unix = nil }),
		"no environment":  policy(func(m *pb.Policy) { m.Environment = nil }),
		"connect port":    policy(func(m *pb.Policy) { m.Network.Connect = []uint32{80, 65536} }),
		"bind port":       policy(func(m *pb.Policy) { m.Network.Bind = []uint32{math.MaxUint32} }),
		"relative socket": policy(func(m *pb.Policy) { m.Unix.Connect = [][]byte{[]byte("run/x")} }),
		"workspace":       policy(func(m *pb.Policy) { m.Workspace = []byte("/a\x00b") }),
		"no path":         rule(""),
		"relative path":   rule("a"),
		"home path":       rule("~/a"),
		"NUL in path":     rule("/a\x00b"),
		"pid 0":           process(0, 1),
		"pid -1":          process(-1, 1),
		"parent -1":       process(1, -1),
		"no ruleset file": birth(&pb.Birth{Landlock: []*pb.LandlockRuleset{{}}}),
		"empty filter":    birth(&pb.Birth{Seccomp: []*pb.SeccompFilter{{}}}),
		"odd filter":      birth(&pb.Birth{Seccomp: []*pb.SeccompFilter{{Program: make([]byte, 12)}}}),
		"long filter":     birth(&pb.Birth{Seccomp: []*pb.SeccompFilter{{Program: make([]byte, 8*4097)}}}),
		"no session":      func() error { _, err := ToHandle(&pb.Handle{}); return err },
		"no handle":       func() error { _, err := ToHandle(nil); return err },
		"session braces":  func() error { _, err := ToHandle(&pb.Handle{Session: "{" + id + "}"}); return err },
		"request session": func() error { _, err := ToOpenRequest(&pb.OpenRequest{Owner: owner}); return err },
		"no owner":        func() error { _, err := ToOpenRequest(&pb.OpenRequest{Session: id}); return err },
		"plan session":    func() error { _, err := ToPlanRequest(&pb.PlanRequest{}); return err },
		"plan policy":     func() error { _, err := ToPlanRequest(&pb.PlanRequest{Session: id}); return err },
		"no description":  func() error { _, err := ToDescription(&pb.DescribeResponse{}); return err },
		"no enforcement":  func() error { _, err := ToPlan(ctx, &pb.PlanResponse{}, &post{}); return err },
		"no plan":         func() error { _, err := ToPlan(ctx, nil, &post{}); return err },
		"nothing opened":  func() error { _, err := ToOpened(ctx, nil, &post{}); return err },
		"a silent gap": func() error {
			_, err := toFinding(&pb.Finding{Dimension: "network", Level: pb.Level_LEVEL_PARTIAL})
			return err
		},
		"two findings": func() error {
			f := &pb.Finding{Dimension: "network", Level: pb.Level_LEVEL_ENFORCED}
			_, err := toEnforcement(&pb.Enforcement{Dimensions: []*pb.Finding{f, f}})
			return err
		},
		"short echo": func() error {
			_, err := ToPlan(ctx, &pb.PlanResponse{Enforcement: &pb.Enforcement{}, Echoes: [][]byte{{1}}}, &post{})
			return err
		},
		"wrapper": func() error {
			_, err := ToPlan(ctx, &pb.PlanResponse{Wrappers: []*pb.Wrapper{{}}}, &post{})
			return err
		},
		"wrapper argument": func() error {
			w := &pb.Wrapper{Path: []byte("/x"), Args: [][]byte{[]byte("a\x00b")}}
			_, err := ToPlan(ctx, &pb.PlanResponse{Wrappers: []*pb.Wrapper{w}}, &post{})
			return err
		},
		"unexplained constraint": func() error {
			c := &pb.Constraint{Kind: 1, Path: []byte("/")}
			_, err := toConstraintFinding(&pb.ConstraintFinding{Constraint: c})
			return err
		},
		"dialect": func() error { _, err := toContribution(&pb.Contribution{}); return err },
		"swept": func() error {
			_, err := ToSweepReport(&pb.SweepResponse{Failed: []*pb.SweepFailure{{}}})
			return err
		},
	} {
		wantReason(t, name, read(), core.ErrInvalidRequest)
	}
}

// After an error no file is held, and none is taken before the rest was read.
func TestFilesAfterAnError(t *testing.T) {
	files := &post{}
	_, err := ToBirth(context.Background(), &pb.Birth{Cgroup: 1, Landlock: []*pb.LandlockRuleset{{File: 2}}}, files)
	if !errors.Is(err, errNoSuchFile) {
		t.Errorf("got %v", err)
	}
	m, err := FromBirth(&core.Birth{Landlock: []core.LandlockRuleset{{}}}, files)
	if err != nil {
		t.Fatal(err)
	}
	m.Seccomp = []*pb.SeccompFilter{{}}
	if _, err := ToBirth(context.Background(), m, files); err == nil || files.taken != 0 {
		t.Errorf("%v, %d files were taken", err, files.taken)
	}
}

func TestFeatures(t *testing.T) {
	for want, change := range map[string]func(*core.Policy){
		core.FeatureDenyRules: func(p *core.Policy) {
			p.Filesystem.Rules = append(p.Filesystem.Rules, core.PathRule{Path: "/x", Access: core.Read, Deny: true})
		},
		core.FeatureNetworkPorts:  func(p *core.Policy) { p.Network.Mode = core.NetworkPorts },
		core.FeatureUnixPaths:     func(p *core.Policy) { p.Unix.Connect = []string{"/run/x"} },
		core.FeatureProcessLimits: func(p *core.Policy) { p.Limits.NoCore = true },
	} {
		p := core.ReadOnly("/w")
		if got := PolicyFeatures(&p); len(got) != 0 {
			t.Fatalf("a preset depends on %v", got)
		}
		change(&p)
		got := FromPlanRequest(&core.PlanRequest{Policy: p}).RequiredFeatures
		if len(got) != 1 || got[0] != want {
			t.Errorf("got %v, want %s", got, want)
		}
		wantReason(t, want, CheckFeatures(got, []string{"other"}), core.ErrUnknownFeature)
		if err := CheckFeatures(got, []string{"other", want}); err != nil {
			t.Error(err)
		}
	}
	m := FromOpenRequest(&core.OpenRequest{Detached: true, MoveOwner: true, Limits: core.LimitsPolicy{Memory: 1}})
	if got := strings.Join(m.RequiredFeatures, " "); got != "session/limits session/detached session/move-owner" {
		t.Errorf("got %s", got)
	}
}
