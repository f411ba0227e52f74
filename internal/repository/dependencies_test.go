package repository

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden lists of dependencies")

// platforms are the systems that the standard backends exist for; elsewhere the dependencies are a subset.
var platforms = []string{"linux", "darwin"}

// libraries are the packages that other people's programs import. Each has a golden list, as every program has.
var libraries = []string{"core", "sdk", "host", "conformance"}

// promise names dependencies, direct or not, that a package may not have, however the golden lists are updated.
type promise struct {
	root string // a directory; with /... all that are under it
	deps []string
}

// The row of host is why there are processes and a contract at all: a host application pulls in no backend, and nothing that
// only a backend or the command line needs.
var promises = []promise{
	{"core", []string{module + "/core/backendpb", grpc, protobuf, goplugin, sys}},
	{"sdk", []string{module + "/host", module + "/plugins", "github.com/spf13", "github.com/pelletier"}},
	{"host", []string{module + "/sdk", module + "/plugins", "github.com/landlock-lsm", "kernel.org/pub/linux/libs/security/libcap",
		"golang.org/x/net/bpf", "github.com/spf13", "github.com/pelletier"}},
	{"plugins/...", []string{module + "/host", module + "/conformance", module + "/cmd", "github.com/spf13", "github.com/pelletier"}},
}

// broken returns the dependencies of the package in dir that break the promise.
func (p promise) broken(dir string, deps []string) []string {
	below, all := strings.CutSuffix(p.root, "/...")
	if dir != p.root && !(all && within(dir, below)) {
		return nil
	}
	var found []string
	for _, dep := range deps {
		if slices.ContainsFunc(p.deps, func(banned string) bool { return within(dep, banned) }) {
			found = append(found, dep)
		}
	}
	return found
}

// listed is what this test reads of "go list -json".
type listed struct {
	ImportPath, Name string
	Standard         bool
	Deps             []string
}

// list returns the module's packages and everything that they are built from on one system, by import path.
func list(goos string) (map[string]listed, error) {
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Name,Standard,Deps", "./...")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH=arm64", "CGO_ENABLED=0", "GOWORK=off")
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s for %s: %w\n%s", cmd, goos, err, complaint.String())
	}
	packages := map[string]listed{}
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, err
		}
		packages[p.ImportPath] = p
	}
}

// lists runs list for all platforms at once.
var lists = sync.OnceValues(func() (map[string]map[string]listed, error) {
	results := make([]map[string]listed, len(platforms))
	errs := make([]error, len(platforms))
	var running sync.WaitGroup
	for i, goos := range platforms {
		running.Go(func() { results[i], errs[i] = list(goos) })
	}
	running.Wait()
	byPlatform := map[string]map[string]listed{}
	for i, goos := range platforms {
		byPlatform[goos] = results[i]
	}
	return byPlatform, errors.Join(errs...)
})

// roots returns the directories with a golden list: the libraries, and every program that somebody might install.
func roots(packages map[string]listed) []string {
	var found []string
	for _, p := range packages {
		dir, inside := strings.CutPrefix(p.ImportPath, module+"/")
		program := p.Name == "main" && !slices.Contains(strings.Split(dir, "/"), "internal")
		if inside && (program || slices.Contains(libraries, dir)) {
			found = append(found, dir)
		}
	}
	slices.Sort(found)
	return found
}

// golden renders what a package is built from besides the standard library, with the systems on which it is.
func golden(dir string, byPlatform map[string]map[string]listed) string {
	on := map[string][]string{}
	for _, goos := range platforms {
		packages := byPlatform[goos]
		for _, dep := range packages[module+"/"+dir].Deps {
			// What other modules keep to themselves changes with every release of theirs and tells nothing.
			foreign := !within(dep, module) && slices.Contains(strings.Split(dep, "/"), "internal")
			if !packages[dep].Standard && !foreign {
				on[dep] = append(on[dep], goos)
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# What %s is built from besides the standard library, and on which systems.\n", dir)
	for _, dep := range slices.Sorted(maps.Keys(on)) {
		fmt.Fprintf(&b, "%-12s  %s\n", strings.Join(on[dep], " "), dep)
	}
	return b.String()
}

func TestDependenciesAreThoseOfTheGoldenLists(t *testing.T) {
	byPlatform, err := lists()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join("testdata", "dependencies")
	wanted := map[string]bool{}
	for _, goos := range platforms {
		for _, dir := range roots(byPlatform[goos]) {
			name := filepath.Join(folder, strings.ReplaceAll(dir, "/", "-")+".txt")
			if wanted[name] {
				continue
			}
			wanted[name] = true
			compare(t, dir, name, golden(dir, byPlatform))
		}
	}
	present, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range present {
		switch {
		case wanted[name]:
		case *update:
			if err := os.Remove(name); err != nil {
				t.Error(err)
			}
		default:
			t.Errorf("%s: there is no such package any more: run make goldens", name)
		}
	}
}

// compare holds the dependencies of a package against its golden list, or rewrites the list.
func compare(t *testing.T, dir, name, got string) {
	if *update {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Errorf("%s has no list of dependencies: run make goldens and review it (%v)", dir, err)
		return
	}
	if string(want) == got {
		return
	}
	before, after := strings.Split(string(want), "\n"), strings.Split(got, "\n")
	for _, line := range after {
		if !slices.Contains(before, line) {
			t.Errorf("%s now depends on: %s", dir, line)
		}
	}
	for _, line := range before {
		if !slices.Contains(after, line) {
			t.Errorf("%s no longer depends on: %s", dir, line)
		}
	}
	t.Errorf("%s differs: if this is wanted, run make goldens", name)
}

func TestPromisedNotToDependOn(t *testing.T) {
	byPlatform, err := lists()
	if err != nil {
		t.Fatal(err)
	}
	for _, goos := range platforms {
		for _, pkg := range byPlatform[goos] {
			dir := strings.TrimPrefix(pkg.ImportPath, module+"/")
			for _, p := range promises {
				for _, dep := range p.broken(dir, pkg.Deps) {
					t.Errorf("on %s, %s depends on %s", goos, dir, dep)
				}
			}
		}
	}
}

func TestPromisesCanBreak(t *testing.T) {
	for _, c := range []struct {
		dir, dep string
		broken   bool
	}{
		{"host", module + "/plugins/landlock", true},
		{"host", "golang.org/x/net/bpf", true},
		{"host", "golang.org/x/net/http2", false},
		{"host/birth", "golang.org/x/net/bpf", false},
		{"plugins/cgroup/cmd", module + "/host/birth", true},
		{"plugins/cgroup", module + "/hostile", false},
		{"core", grpc + "/codes", true},
	} {
		var found []string
		for _, p := range promises {
			found = append(found, p.broken(c.dir, []string{"fmt", c.dep})...)
		}
		if (len(found) > 0) != c.broken {
			t.Errorf("%s on %s: got %q, want broken %v", c.dir, c.dep, found, c.broken)
		}
	}
}
