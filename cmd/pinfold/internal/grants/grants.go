// Package grants turns the flags of the command line into a policy.
package grants

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/host/policyfile"
)

// Flags are what a person asked for. The zero value asks for the default preset
// in the current directory.
type Flags struct {
	Preset    string // a name of core.Presets, or empty
	File      string // a policy file, or empty; not both
	Workspace string // empty means the current directory

	Read, Write, Exec, Deny []string // paths

	Net           string   // "none", "all" or empty
	Connect, Bind []string // TCP ports

	Env        []string // NAME or NAME=VALUE
	BestEffort bool
	Require    []string // dimensions
}

// DefaultPreset is what applies when neither a preset nor a policy file is named.
const DefaultPreset = "workspace-write"

// Policy returns the policy that the flags ask for: the preset or the file, and
// what the other flags add to it. It is not settled yet. Relative paths are below
// the current directory, as everywhere on a command line.
func (f *Flags) Policy() (core.Policy, error) {
	workspace, err := absolute("--workspace", cmp.Or(f.Workspace, "."))
	if err != nil {
		return core.Policy{}, err
	}
	p, err := f.base(workspace)
	if err != nil {
		return core.Policy{}, err
	}
	p.BestEffort = p.BestEffort || f.BestEffort
	for _, add := range []func(*core.Policy) error{f.addPaths, f.addNetwork, f.addEnvironment, f.addRequired} {
		if err := add(&p); err != nil {
			return core.Policy{}, err
		}
	}
	return p, nil
}

func (f *Flags) base(workspace string) (core.Policy, error) {
	switch {
	case f.File != "" && f.Preset != "":
		return core.Policy{}, errors.New("--preset and --policy exclude each other: a policy file names the preset that it builds on")
	case f.File != "":
		return policyfile.Load(f.File, workspace)
	}
	return core.Preset(cmp.Or(f.Preset, DefaultPreset), workspace)
}

func (f *Flags) addPaths(p *core.Policy) error {
	for _, group := range []struct {
		flag   string
		paths  []string
		access core.Access
	}{
		{"--read", f.Read, core.Read},
		{"--write", f.Write, core.Read | core.Write},
		{"--exec", f.Exec, core.Read | core.Execute},
		{"--deny", f.Deny, core.AllAccess},
	} {
		for _, path := range group.paths {
			if !p.Filesystem.Confined {
				return fmt.Errorf("%s has nothing to add to: the policy %q does not confine the filesystem", group.flag, p.Name)
			}
			path, err := absolute(group.flag, path)
			if err != nil {
				return err
			}
			p.Filesystem.Rules = append(p.Filesystem.Rules, core.PathRule{
				Path: path, Access: group.access, Deny: group.flag == "--deny", Origin: group.flag,
			})
		}
	}
	return nil
}

// absolute returns the path that a person means in the current directory.
func absolute(flag, path string) (string, error) {
	switch {
	case path == "":
		return "", fmt.Errorf("%s: the path is empty", flag)
	case strings.ContainsRune(path, 0):
		return "", fmt.Errorf("%s: the path %q has a NUL byte in it", flag, path)
	case filepath.IsAbs(path):
		return path, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("%s: the current directory is not known, give an absolute path: %w", flag, err)
	}
	return filepath.Join(dir, path), nil
}

func (f *Flags) addNetwork(p *core.Policy) error {
	ports := len(f.Connect)+len(f.Bind) > 0
	switch {
	case f.Net != "" && f.Net != "none" && f.Net != "all":
		return fmt.Errorf("--net %q: it is none or all", f.Net)
	case f.Net != "" && ports:
		return fmt.Errorf("--net %s and --connect or --bind exclude each other: ports are granted beside an otherwise closed network", f.Net)
	case f.Net == "none":
		p.Network = core.NetworkPolicy{Mode: core.NetworkNone}
		require(p, core.Network)
		return nil
	case f.Net == "all":
		p.Network = core.NetworkPolicy{Mode: core.NetworkAll}
		return nil
	case !ports:
		return nil
	case p.Network.Mode != core.NetworkNone && p.Network.Mode != core.NetworkPorts:
		return fmt.Errorf("--connect and --bind have nothing to add to: the policy %q leaves the network open", p.Name)
	}
	p.Network.Mode = core.NetworkPorts
	var err error
	if p.Network.Connect, err = addPorts(p.Network.Connect, "--connect", f.Connect, 1); err == nil {
		p.Network.Bind, err = addPorts(p.Network.Bind, "--bind", f.Bind, 0)
	}
	return err
}

func addPorts(list []uint16, flag string, words []string, lowest uint64) ([]uint16, error) {
	for _, word := range words {
		port, err := strconv.ParseUint(word, 10, 16)
		if err != nil || port < lowest {
			return nil, fmt.Errorf("%s %q: a TCP port is a number from %d to 65535", flag, word, lowest)
		}
		if !slices.Contains(list, uint16(port)) {
			list = append(list, uint16(port))
		}
	}
	return list, nil
}

func (f *Flags) addEnvironment(p *core.Policy) error {
	for _, word := range f.Env {
		name, _, set := strings.Cut(word, "=")
		if name == "" || strings.ContainsRune(word, 0) {
			return fmt.Errorf("--env %q: it is NAME or NAME=VALUE", word)
		}
		if set {
			p.Environment.Set = append(p.Environment.Set, word)
		} else {
			p.Environment.Pass = append(p.Environment.Pass, name)
		}
	}
	return nil
}

func (f *Flags) addRequired(p *core.Policy) error {
	for _, word := range f.Require {
		d := core.Dimension(word)
		if !d.Valid() {
			return fmt.Errorf("--require %q: there is no such dimension; there are %s", word, dimensions())
		}
		require(p, d)
	}
	return nil
}

func require(p *core.Policy, d core.Dimension) {
	if !p.Requires(d) {
		p.Require = append(p.Require, d)
	}
}

func dimensions() string {
	var words []string
	for _, d := range core.Dimensions() {
		words = append(words, string(d))
	}
	return strings.Join(words, ", ")
}
