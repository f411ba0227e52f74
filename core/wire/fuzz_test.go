package wire

import (
	"context"
	"math/rand"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/pinfold/pinfold/core"
	pb "github.com/pinfold/pinfold/core/backendpb"
)

// FuzzPolicy: whatever bytes arrive, what ToPolicy accepts is valid, and comes
// back the same when it is sent on.
func FuzzPolicy(f *testing.F) {
	for seed := range int64(8) {
		var p core.Policy
		filler{rand.New(rand.NewSource(seed))}.fill(reflect.ValueOf(&p).Elem(), "")
		raw, err := proto.Marshal(FromPolicy(&p))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		m := &pb.Policy{}
		if proto.Unmarshal(raw, m) != nil || CheckUnderstood(m) != nil {
			return
		}
		p, err := ToPolicy(m)
		if err != nil {
			if core.ReasonOf(err) != core.ErrInvalidRequest && core.ReasonOf(err) != core.ErrUnknownFeature {
				t.Errorf("an error of another kind: %v", err)
			}
			if !reflect.DeepEqual(p, core.Policy{}) {
				t.Errorf("an error with a policy: %+v", p)
			}
			return
		}
		wantValidPolicy(t, p)
		again, err := ToPolicy(through(t, FromPolicy(&p)))
		if err != nil || !reflect.DeepEqual(again, p) {
			t.Errorf("%v\ngot  %+v\nwant %+v", err, again, p)
		}
	})
}

func wantValidPolicy(t *testing.T, p core.Policy) {
	t.Helper()
	if p.Network.Mode < core.NetworkNone || p.Network.Mode > core.NetworkUnconfined ||
		p.Unix.Mode < core.UnixNone || p.Unix.Mode > core.UnixUnconfined {
		t.Errorf("invalid modes: %+v", p)
	}
	for _, rule := range p.Filesystem.Rules {
		if rule.Access == 0 || rule.Access&^core.AllAccess != 0 || !filepath.IsAbs(rule.Path) || strings.Contains(rule.Path, "\x00") {
			t.Errorf("invalid rule: %+v", rule)
		}
	}
	for _, d := range p.Require {
		if !d.Valid() {
			t.Errorf("invalid dimension %q", d)
		}
	}
}

// FuzzBirth is FuzzPolicy for births. Every file that was taken is in the birth
// or closed.
func FuzzBirth(f *testing.F) {
	for seed := range int64(8) {
		var b core.Birth
		filler{rand.New(rand.NewSource(seed))}.fill(reflect.ValueOf(&b).Elem(), "")
		m, err := FromBirth(&b, &post{})
		if err != nil {
			f.Fatal(err)
		}
		raw, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m := &pb.Birth{}
		if proto.Unmarshal(raw, m) != nil || CheckUnderstood(m) != nil {
			return
		}
		files := &pipes{}
		b, err := ToBirth(context.Background(), m, files)
		wantValidBirth(t, b)
		if err == nil {
			held := len(b.Landlock)
			if b.Cgroup != nil {
				held++
			}
			if held != len(files.taken) {
				t.Errorf("%d files were taken and %d are held", len(files.taken), held)
			}
		}
		b.Close()
		for _, taken := range files.taken {
			if taken.Close() == nil {
				t.Error("a file that was taken was left open")
			}
		}
	})
}

func wantValidBirth(t *testing.T, b core.Birth) {
	t.Helper()
	if b.Namespaces&^core.AllNamespaces != 0 {
		t.Errorf("invalid namespaces %x", b.Namespaces)
	}
	for _, mount := range b.Mounts {
		if mount.Kind < core.MountBind || mount.Kind > core.MountProc {
			t.Errorf("invalid mount %+v", mount)
		}
	}
	for _, limit := range b.Limits {
		if limit.Resource < core.ResourceCore || limit.Resource > core.ResourceAddressSpace {
			t.Errorf("invalid limit %+v", limit)
		}
	}
	for _, filter := range b.Seccomp {
		if n := len(filter.Program); n == 0 || n > maxInstructions {
			t.Errorf("a filter of %d instructions", n)
		}
	}
}

// pipes has a file for ids below 100, at most 16.
type pipes struct{ taken []*os.File }

func (p *pipes) Take(_ context.Context, id uint64) (*os.File, error) {
	if id >= 100 || len(p.taken) == 16 {
		return nil, errNoSuchFile
	}
	f, err := os.Open(os.DevNull)
	if err == nil {
		p.taken = append(p.taken, f)
	}
	return f, err
}
