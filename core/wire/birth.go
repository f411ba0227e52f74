package wire

import (
	"context"
	"encoding/binary"
	"os"

	"github.com/pinfold/pinfold/core"
	pb "github.com/pinfold/pinfold/core/backendpb"
)

// A FileSender sends an open file to the other side and returns the id under
// which it arrives. The caller keeps its own descriptor.
type FileSender interface {
	Send(f *os.File) (uint64, error)
}

// A FileTaker returns the file that was sent under an id, once.
type FileTaker interface {
	Take(ctx context.Context, id uint64) (*os.File, error)
}

// maxInstructions is the longest program that seccomp(2) takes (BPF_MAXINSNS).
const maxInstructions = 4096

const instructionSize = 8

// FromBirth returns the message for b, its files sent through files.
func FromBirth(b *core.Birth, files FileSender) (*pb.Birth, error) {
	m := &pb.Birth{
		Namespaces:       uint32(b.Namespaces),
		DropCapabilities: b.DropCapabilities,
		NoNewPrivileges:  b.NoNewPrivileges,
		Mounts: all(b.Mounts, func(mount core.Mount) *pb.Mount {
			return &pb.Mount{
				Kind: pb.MountKind(mount.Kind), Source: []byte(mount.Source),
				Target: []byte(mount.Target), ReadOnly: mount.ReadOnly,
			}
		}),
		Limits: all(b.Limits, func(l core.ResourceLimit) *pb.ResourceLimit {
			return &pb.ResourceLimit{Resource: pb.Resource(l.Resource), Soft: l.Soft, Hard: l.Hard}
		}),
		Seccomp: all(b.Seccomp, func(f core.SeccompFilter) *pb.SeccompFilter {
			return &pb.SeccompFilter{Program: encodeProgram(f.Program)}
		}),
	}
	var err error
	if b.Cgroup != nil {
		if m.Cgroup, err = files.Send(b.Cgroup); err != nil {
			return nil, err
		}
	}
	m.Landlock, err = each(b.Landlock, func(r core.LandlockRuleset) (*pb.LandlockRuleset, error) {
		id, err := files.Send(r.File)
		return &pb.LandlockRuleset{File: id, Flags: r.Flags}, err
	})
	return m, err
}

// ToBirth returns the birth in m, which may be nil, with its files taken from
// files. After an error no file is held.
func ToBirth(ctx context.Context, m *pb.Birth, files FileTaker) (core.Birth, error) {
	b, err := toBirth(ctx, m, files)
	if err != nil {
		b.Close()
		return core.Birth{}, err
	}
	return b, nil
}

func toBirth(ctx context.Context, m *pb.Birth, files FileTaker) (b core.Birth, err error) {
	b.Namespaces = core.Namespaces(m.GetNamespaces())
	if b.Namespaces&^core.AllNamespaces != 0 {
		return b, unknownValue("set of namespaces", int32(b.Namespaces))
	}
	b.DropCapabilities = m.GetDropCapabilities()
	b.NoNewPrivileges = m.GetNoNewPrivileges()
	if b.Mounts, err = each(m.GetMounts(), toMount); err != nil {
		return b, err
	}
	if b.Limits, err = each(m.GetLimits(), toResourceLimit); err != nil {
		return b, err
	}
	if b.Seccomp, err = each(m.GetSeccomp(), toSeccompFilter); err != nil {
		return b, err
	}
	if id := m.GetCgroup(); id != 0 {
		if b.Cgroup, err = files.Take(ctx, id); err != nil {
			return b, err
		}
	}
	for _, ruleset := range m.GetLandlock() {
		if ruleset.GetFile() == 0 {
			return b, malformed("a Landlock ruleset lacks its file")
		}
		f, err := files.Take(ctx, ruleset.GetFile())
		if err != nil {
			return b, err
		}
		b.Landlock = append(b.Landlock, core.LandlockRuleset{File: f, Flags: ruleset.GetFlags()})
	}
	return b, nil
}

func toMount(m *pb.Mount) (core.Mount, error) {
	kind := core.MountKind(m.GetKind())
	if kind < core.MountBind || kind > core.MountProc {
		return core.Mount{}, unknownValue("kind of mount", int32(kind))
	}
	return core.Mount{Kind: kind, Source: string(m.Source), Target: string(m.Target), ReadOnly: m.ReadOnly}, nil
}

func toResourceLimit(m *pb.ResourceLimit) (core.ResourceLimit, error) {
	resource := core.Resource(m.GetResource())
	if resource < core.ResourceCore || resource > core.ResourceAddressSpace {
		return core.ResourceLimit{}, unknownValue("resource", int32(resource))
	}
	return core.ResourceLimit{Resource: resource, Soft: m.Soft, Hard: m.Hard}, nil
}

func toSeccompFilter(m *pb.SeccompFilter) (core.SeccompFilter, error) {
	raw := m.GetProgram()
	if len(raw) == 0 || len(raw)%instructionSize != 0 || len(raw) > maxInstructions*instructionSize {
		return core.SeccompFilter{}, malformed("a seccomp filter is %d bytes long", len(raw))
	}
	return core.SeccompFilter{Program: decodeProgram(raw)}, nil
}

func encodeProgram(program []core.BPFInstruction) []byte {
	raw := make([]byte, 0, len(program)*instructionSize)
	for _, i := range program {
		raw = binary.LittleEndian.AppendUint16(raw, i.Code)
		raw = append(raw, i.JT, i.JF)
		raw = binary.LittleEndian.AppendUint32(raw, i.K)
	}
	return raw
}

func decodeProgram(raw []byte) []core.BPFInstruction {
	program := make([]core.BPFInstruction, len(raw)/instructionSize)
	for i := range program {
		at := raw[i*instructionSize:]
		program[i] = core.BPFInstruction{
			Code: binary.LittleEndian.Uint16(at), JT: at[2], JF: at[3],
			K: binary.LittleEndian.Uint32(at[4:]),
		}
	}
	return program
}
