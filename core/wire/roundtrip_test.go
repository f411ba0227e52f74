package wire

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/pinfold/pinfold/core"
)

// post carries files within the process.
type post struct {
	files map[uint64]*os.File
	last  uint64
	taken int
}

func (p *post) Send(f *os.File) (uint64, error) {
	if p.files == nil {
		p.files = map[uint64]*os.File{}
	}
	p.last++
	p.files[p.last] = f
	return p.last, nil
}

var errNoSuchFile = errors.New("no such file was sent")

func (p *post) Take(_ context.Context, id uint64) (*os.File, error) {
	f := p.files[id]
	if f == nil {
		return nil, errNoSuchFile
	}
	delete(p.files, id)
	p.taken++
	return f, nil
}

// filler fills values with what the vocabulary allows, from a source of chance.
type filler struct{ *rand.Rand }

func (r filler) text() string { return fmt.Sprintf("text %d ü", r.Intn(1000)) }

// path returns one whose bytes are any but NUL, and so mostly not UTF-8.
func (r filler) path() string {
	raw := []byte{'/'}
	for range r.Intn(20) {
		raw = append(raw, byte(1+r.Intn(255)))
	}
	return string(raw)
}

// pathFields are the fields of type string that hold paths.
var pathFields = map[string]bool{
	"PathRule.Path": true, "UnixPolicy.Connect": true, "Constraint.Path": true, "Wrapper.Path": true,
	"Mount.Source": true, "Mount.Target": true, "Policy.Workspace": true, "Wrapper.Args": true, "Process.Command": true,
}

// fill sets v and all within. The name is "Type.Field".
func (r filler) fill(v reflect.Value, name string) {
	switch special := v.Addr().Interface().(type) {
	case *core.SessionID:
		*special = core.NewSessionID()
		return
	case **os.File:
		*special = os.Stdin // stands for any
		return
	case *core.Dimension:
		*special = core.Dimensions()[r.Intn(len(core.Dimensions()))]
		return
	case *core.Level:
		*special = core.Level(1 + r.Intn(4))
		return
	case *core.Outcome:
		*special = core.Outcome(1 + r.Intn(3))
		return
	case *core.NetworkMode:
		*special = core.NetworkMode(1 + r.Intn(4))
		return
	case *core.UnixMode:
		*special = core.UnixMode(1 + r.Intn(2))
		return
	case *core.ConstraintKind:
		*special = core.ConstraintKind(1 + r.Intn(2))
		return
	case *core.MountKind:
		*special = core.MountKind(1 + r.Intn(3))
		return
	case *core.Resource:
		*special = core.Resource(1 + r.Intn(6))
		return
	case *core.Access:
		*special = core.Access(1 + r.Intn(7))
		return
	case *core.Namespaces:
		*special = core.Namespaces(r.Intn(32))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Name == "Set" { // the values of variables do not cross
				continue
			}
			r.fill(v.Field(i), v.Type().Name()+"."+v.Type().Field(i).Name)
		}
	case reflect.Slice:
		n := 1 + r.Intn(3)
		if name == "Enforcement.Dimensions" {
			n = 1 // a report names each dimension once
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range v.Len() {
			r.fill(v.Index(i), name)
		}
	case reflect.Array:
		for i := range v.Len() {
			r.fill(v.Index(i), name)
		}
	case reflect.String:
		if pathFields[name] {
			v.SetString(r.path())
		} else {
			v.SetString(r.text())
		}
	case reflect.Bool:
		v.SetBool(r.Intn(2) == 0)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(1 + int64(r.Intn(1<<20)))
	default:
		v.SetUint(r.Uint64() >> (64 - v.Type().Bits()))
	}
}

// through encodes and decodes m.
func through[M proto.Message](t *testing.T, m M) M {
	t.Helper()
	raw, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	out := m.ProtoReflect().New().Interface()
	if err := proto.Unmarshal(raw, out); err != nil {
		t.Fatal(err)
	}
	if err := CheckUnderstood(out); err != nil {
		t.Fatal(err)
	}
	return out.(M)
}

// same sends random values of T through from and to.
func same[T any](t *testing.T, trip func(T) (T, error)) {
	t.Helper()
	for seed := range int64(200) {
		r := filler{rand.New(rand.NewSource(seed))}
		var want T
		r.fill(reflect.ValueOf(&want).Elem(), "")
		got, err := trip(want)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: %v\ngot  %+v\nwant %+v", seed, err, got, want)
		}
	}
}

func TestEveryValueComesBack(t *testing.T) {
	ctx := context.Background()
	t.Run("PlanRequest", func(t *testing.T) {
		same(t, func(v core.PlanRequest) (core.PlanRequest, error) {
			got, err := ToPlanRequest(through(t, FromPlanRequest(&v)))
			return *got, err
		})
	})
	t.Run("Plan", func(t *testing.T) {
		same(t, func(v core.Plan) (core.Plan, error) {
			files := &post{}
			m, err := FromPlan(&v, files)
			if err != nil {
				return v, err
			}
			got, err := ToPlan(ctx, through(t, m), files)
			if len(files.files) != 0 {
				t.Errorf("%d files were not taken", len(files.files))
			}
			return *got, err
		})
	})
	t.Run("OpenRequest", func(t *testing.T) {
		same(t, func(v core.OpenRequest) (core.OpenRequest, error) {
			got, err := ToOpenRequest(through(t, FromOpenRequest(&v)))
			return *got, err
		})
	})
	t.Run("Opened", func(t *testing.T) {
		same(t, func(v core.Opened) (core.Opened, error) {
			files := &post{}
			m, err := FromOpened(&v, files)
			if err != nil {
				return v, err
			}
			got, err := ToOpened(ctx, through(t, m), files)
			return *got, err
		})
	})
	t.Run("Description", func(t *testing.T) {
		same(t, func(v core.Description) (core.Description, error) {
			got, err := ToDescription(through(t, FromDescription(&v)))
			return *got, err
		})
	})
	t.Run("Capability", func(t *testing.T) {
		same(t, func(v core.Capability) (core.Capability, error) {
			got, err := ToCapability(through(t, FromCapability(&v)))
			return *got, err
		})
	})
	t.Run("KillReport", func(t *testing.T) {
		same(t, func(v core.KillReport) (core.KillReport, error) {
			got, err := ToKillReport(through(t, FromKillReport(&v)))
			return *got, err
		})
	})
	t.Run("SweepReport", func(t *testing.T) {
		same(t, func(v core.SweepReport) (core.SweepReport, error) {
			got, err := ToSweepReport(through(t, FromSweepReport(&v)))
			return *got, err
		})
	})
}

func TestPresetsComeBack(t *testing.T) {
	for _, name := range core.Presets() {
		want, err := core.Preset(name, "/work\xffspace")
		if err != nil {
			t.Fatal(err)
		}
		for i := range want.Filesystem.Rules { // settled, as a host does
			want.Filesystem.Rules[i].Path = "/home/u/" + fmt.Sprint(i)
		}
		got, err := ToPolicy(through(t, FromPolicy(&want)))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v\ngot  %+v\nwant %+v", name, err, got, want)
		}
	}
}

// Values of variables never leave the host.
func TestSecretsStayBehind(t *testing.T) {
	p := core.ReadOnly("/w")
	p.Environment.Set = []string{"TOKEN=hunter2"}
	if text := FromPolicy(&p).String(); strings.Contains(text, "hunter2") || strings.Contains(text, "TOKEN") {
		t.Error(text)
	}
}

// Text that is no UTF-8 is mended, for it would fail the whole call; paths keep
// their bytes.
func TestTextIsMended(t *testing.T) {
	got, err := ToCapability(through(t, FromCapability(&core.Capability{Findings: []core.Finding{{
		Dimension: core.FSRead, Rule: "read /\xff", Level: core.Partial, Gap: "g\xff"}}})))
	if err != nil || got.Findings[0].Rule != "read /\uFFFD" || got.Findings[0].Gap != "g\uFFFD" {
		t.Errorf("%+v, %v", got, err)
	}
	rule := core.PathRule{Path: "/\xff", Access: core.Read, Origin: "\xff"}
	back, err := toPathRule(through(t, fromPathRule(rule)))
	if err != nil || back.Path != "/\xff" || back.Origin != "\uFFFD" {
		t.Errorf("%+v, %v", back, err)
	}
}

// A request of nearly the largest size holds tens of thousands of paths.
func TestLargeMessages(t *testing.T) {
	p := core.ReadOnly("/w")
	p.Filesystem.Rules = nil
	for i := range 100_000 {
		p.Filesystem.Rules = append(p.Filesystem.Rules, core.PathRule{Path: fmt.Sprintf("/%0130d", i), Access: core.Read})
	}
	m := FromPolicy(&p)
	if size := proto.Size(m); size < MaxMessage*3/4 || size > MaxMessage {
		t.Errorf("the message has %d bytes, which is not near %d", size, MaxMessage)
	}
	got, err := ToPolicy(through(t, m))
	if err != nil || !reflect.DeepEqual(got, p) {
		t.Errorf("it came back as another: %v", err)
	}
}
