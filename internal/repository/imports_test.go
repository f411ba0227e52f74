package repository

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// The modules that more than one room may use.
const (
	uuid     = "github.com/google/uuid"
	grpc     = "google.golang.org/grpc"
	genproto = "google.golang.org/genproto/googleapis/rpc"
	protobuf = "google.golang.org/protobuf"
	goplugin = "github.com/hashicorp/go-plugin"
	hclog    = "github.com/hashicorp/go-hclog"
	sys      = "golang.org/x/sys"
)

// room is a part of the module and what its files may import: directories of the module, and other modules. The standard
// library and the room's own packages are always allowed.
type room struct {
	dir   string
	exact bool // the directory alone, not those under it
	may   []string
	tests []string // what its tests may import beyond that
	// Other modules. nil means any: the golden lists show what came in.
	modules []string
	why     string
}

// rooms are ordered from the special to the general; the first that fits a directory counts. A package that fits none fails
// the test: a new room starts with a line here.
var rooms = []room{
	{dir: "core", exact: true, modules: []string{uuid},
		why: "the vocabulary is plain Go: no I/O, no wire format"},
	{dir: "core/backendpb", modules: []string{grpc, protobuf},
		why: "the contract depends on nothing but its encoding"},
	{dir: "core", may: []string{"core"}, modules: []string{uuid, grpc, genproto, protobuf, goplugin, sys},
		why: "what host and sdk share may not know either of them"},
	{dir: "sdk", may: []string{"core"}, modules: []string{uuid, grpc, genproto, protobuf, goplugin, hclog, sys},
		why: "a backend author gets no host and no other backend"},
	{dir: "plugins", may: []string{"core", "sdk"}, tests: []string{"host", "conformance"},
		why: "a backend never knows its host, nor another backend"},
	{dir: "host/policyfile", may: []string{"core"}, modules: []string{"github.com/pelletier/go-toml/v2"},
		why: "a policy's file format is for those who want files; host does without it"},
	{dir: "host", may: []string{"core"}, tests: []string{"sdk"},
		modules: []string{uuid, grpc, genproto, protobuf, goplugin, hclog, sys, "golang.org/x/term", "github.com/creack/pty"},
		why:     "a host application gets no backend's code and none of its dependencies"},
	{dir: "conformance", may: []string{"core", "host"}, tests: []string{"sdk", "plugins"},
		why: "the suite sees a backend as any host does: as a program"},
	{dir: "cmd", may: []string{"core", "sdk", "host", "conformance", "plugins"},
		why: "the command line embeds the standard backends and is embedded nowhere"},
	{dir: "examples", may: []string{"core", "host", "sdk"}, modules: []string{},
		why: "an example shows what an outsider needs"},
	{dir: "internal/bench", may: []string{"core", "host"},
		why: "the benchmarks measure what a host application sees"},
	{dir: "internal", modules: []string{},
		why: "the repository's own tools need the standard library alone"},
}

// roomOf finds the room of a directory, and the part of the room that may import itself: each backend is on its own.
func roomOf(dir string) (r room, own string, ok bool) {
	for _, r := range rooms {
		if dir != r.dir && (r.exact || !within(dir, r.dir)) {
			continue
		}
		if r.dir != "plugins" && r.dir != "internal" {
			return r, r.dir, true
		}
		elements := strings.SplitN(dir, "/", 3)
		return r, strings.Join(elements[:min(2, len(elements))], "/"), true
	}
	return room{}, "", false
}

// refuse says why a file in dir may not import a path, or nothing if it may.
func refuse(dir string, test bool, imported string) string {
	if imported == "C" {
		return "imports C: every program is built without cgo, which makes it static and easy to cross-build"
	}
	r, own, ok := roomOf(dir)
	if !ok {
		return "is in no room: add one to rooms in internal/repository, with what it may import"
	}
	if local, inside := strings.CutPrefix(imported, module+"/"); inside {
		allowed := append([]string{own}, r.may...)
		if test {
			allowed = append(append(allowed, "internal/golden"), r.tests...)
		}
		for _, dir := range allowed {
			if within(local, dir) && !(r.exact && local != dir) {
				return ""
			}
		}
		return fmt.Sprintf("imports %s: %s", local, r.why)
	}
	first, _, _ := strings.Cut(imported, "/")
	if !strings.Contains(first, ".") || r.modules == nil || test {
		return ""
	}
	for _, allowed := range r.modules {
		if within(imported, allowed) {
			return ""
		}
	}
	return fmt.Sprintf("imports %s: %s (a module that belongs here is added to rooms in internal/repository)", imported, r.why)
}

func TestImportsPointOneWay(t *testing.T) {
	for _, file := range sources(t) {
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if complaint := refuse(file.pkg, file.test, imported); complaint != "" {
				t.Errorf("%s %s", file.Position(spec.Pos()), complaint)
			}
		}
	}
}

func TestImportRulesRefuse(t *testing.T) {
	for _, c := range []struct {
		dir      string
		test     bool
		imported string
		refused  bool
	}{
		{"core", false, "strings", false},
		{"core", false, uuid, false},
		{"core", false, protobuf + "/proto", true},
		{"core", false, module + "/core/backendpb", true},
		{"core", true, module + "/core", false},
		{"core/backendpb", false, module + "/core", true},
		{"core/wire", false, module + "/core/backendpb", false},
		{"core/wire", false, module + "/sdk", true},
		{"sdk", false, module + "/core/wire", false},
		{"sdk", false, module + "/host", true},
		{"sdk/killing", false, module + "/sdk", false},
		{"plugins/landlock", false, module + "/sdk", false},
		{"plugins/landlock", false, module + "/plugins/landlock/seccomp", false},
		{"plugins/landlock", false, module + "/plugins/cgroup", true},
		{"plugins/landlock", false, "github.com/landlock-lsm/go-landlock/landlock/syscall", false},
		{"plugins/cgroup", false, module + "/host", true},
		{"plugins/cgroup", true, module + "/host", false},
		{"host", false, module + "/core/wire", false},
		{"host", false, module + "/sdk", true},
		{"host", true, module + "/sdk", false},
		{"host", true, module + "/plugins/landlock", true},
		{"host", false, module + "/plugins/landlock", true},
		{"host", false, "github.com/spf13/cobra", true},
		{"host/birth", false, sys + "/unix", false},
		{"host", false, sys + "tem", true},
		{"conformance", false, module + "/host", false},
		{"conformance", false, module + "/plugins/cgroup", true},
		{"cmd/pinfold", false, module + "/plugins/cgroup", false},
		{"internal/mustrun", false, module + "/core", true},
		{"internal/mustrun", false, uuid, true},
		{"novelty", false, "strings", true},
		{"host", false, "C", true},
	} {
		if got := refuse(c.dir, c.test, c.imported); (got != "") != c.refused {
			t.Errorf("%s (test file: %v) imports %s: refused %v, want %v (%q)", c.dir, c.test, c.imported, got != "", c.refused, got)
		}
	}
}
