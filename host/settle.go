package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pinfold/pinfold/core"
)

// Settle returns the policy with every path absolute and clean, and the
// workspace resolved to the directory it is. The caller's policy is not changed.
//
// A path that begins with "~/" is below the home directory, a relative one below
// the workspace, and neither may climb out with "..". A relative path of a grant
// may not lead out of the workspace by a symbolic link either, for commands of an
// earlier session may have made it. A workspace that is the root, the home
// directory or above it is refused: granting it would grant what presets keep
// back.
func Settle(p core.Policy) (core.Policy, error) {
	home := homeDir()
	workspace, err := settleWorkspace(p.Workspace, home)
	if err != nil {
		return p, err
	}
	rules := slices.Clone(p.Filesystem.Rules)
	for i := range rules {
		// A preset's rule for the workspace was written before it was resolved.
		if rules[i].Path == p.Workspace {
			rules[i].Path = workspace
		}
		relative := isRelative(rules[i].Path)
		if rules[i].Path, err = settlePath(rules[i].Path, workspace, home, rules[i].Origin); err != nil {
			return p, err
		}
		if relative && !rules[i].Deny {
			if err = staysBelow(rules[i].Path, workspace, rules[i].Origin); err != nil {
				return p, err
			}
		}
	}
	sockets := slices.Clone(p.Unix.Connect)
	for i := range sockets {
		relative := isRelative(sockets[i])
		if sockets[i], err = settlePath(sockets[i], workspace, home, ""); err != nil {
			return p, err
		}
		if relative {
			if err = staysBelow(sockets[i], workspace, ""); err != nil {
				return p, err
			}
		}
	}
	p.Workspace, p.Filesystem.Rules, p.Unix.Connect = workspace, rules, sockets
	return p, validate(&p)
}

func settleWorkspace(path, home string) (string, error) {
	invalid := func(detail, remedy string, err error) error {
		return &core.Error{
			Reason: core.ErrInvalidPolicy, Stage: core.StagePolicy, Path: path,
			Detail: "the workspace " + detail, Remedy: remedy, Err: err,
		}
	}
	if path == "" {
		return "", invalid("is not set", "name a directory", nil)
	}
	if strings.ContainsRune(path, 0) {
		return "", invalid("has a NUL byte in its path", "", nil)
	}
	if !filepath.IsAbs(path) {
		return "", invalid("is not an absolute path", "", nil)
	}
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", invalid("cannot be used", "name a directory that exists", err)
	}
	if info, err := os.Stat(resolved); err != nil || !info.IsDir() {
		return "", invalid("is not a directory", "name a directory", err)
	}
	if resolved == string(filepath.Separator) {
		return "", invalid("is the root of the filesystem", "name the directory of a project, or grant paths one by one", nil)
	}
	if realHome, err := filepath.EvalSymlinks(home); err == nil && within(realHome, resolved) {
		return "", invalid("contains the home directory, with its keys and start-up files",
			"name the directory of a project, or grant paths one by one", nil)
	}
	return resolved, nil
}

// homeDir returns the home directory that the environment names, or else the
// user's in the system's list, or "".
func homeDir() string {
	if home, err := os.UserHomeDir(); err == nil {
		return home
	}
	if me, err := user.Current(); err == nil {
		return me.HomeDir
	}
	return ""
}

func invalidPath(path, origin, detail, remedy string) *core.Error {
	if origin != "" && origin != "preset" {
		detail = origin + ": " + detail
	}
	return &core.Error{Reason: core.ErrInvalidPolicy, Stage: core.StagePolicy, Path: path, Detail: detail, Remedy: remedy}
}

// isRelative reports whether a path is meant to be below the workspace.
func isRelative(path string) bool {
	return !filepath.IsAbs(path) && path != "~" && !strings.HasPrefix(path, "~"+string(filepath.Separator))
}

// staysBelow refuses a path below the workspace that symbolic links lead out of
// it.
func staysBelow(path, workspace, origin string) error {
	for p := path; p != workspace; p = filepath.Dir(p) {
		real, err := filepath.EvalSymlinks(p)
		if err == nil && within(real, workspace) {
			return nil
		}
		if _, lstatErr := os.Lstat(p); err != nil && errors.Is(lstatErr, fs.ErrNotExist) {
			continue
		}
		e := invalidPath(path, origin, "a relative path leads out of the workspace by a symbolic link", "give the absolute path that is meant")
		e.Err = err
		return e
	}
	return nil
}

func settlePath(path, workspace, home, origin string) (string, error) {
	invalid := func(detail, remedy string) error { return invalidPath(path, origin, detail, remedy) }
	switch {
	case path == "":
		return "", invalid("a path is empty", "")
	case strings.ContainsRune(path, 0):
		return "", invalid("a path has a NUL byte in it", "")
	case filepath.IsAbs(path):
		return filepath.Clean(path), nil
	}
	base, rest := workspace, path
	if tail, ok := strings.CutPrefix(path, "~"); ok && (tail == "" || tail[0] == filepath.Separator) {
		if !filepath.IsAbs(home) {
			return "", invalid("there is no home directory", "set HOME, or give an absolute path")
		}
		base, rest = home, strings.TrimPrefix(tail, string(filepath.Separator))
	}
	settled := filepath.Join(base, rest)
	if !within(settled, base) {
		return "", invalid(fmt.Sprintf("a relative path leads out of %q", base), "give an absolute path")
	}
	return settled, nil
}

// within reports whether path is dir or below it. Both are clean.
func within(path, dir string) bool {
	return path == dir || dir == string(filepath.Separator) || strings.HasPrefix(path, dir+string(filepath.Separator))
}

// validate refuses policies that contradict themselves.
func validate(p *core.Policy) error {
	invalid := func(format string, args ...any) error {
		return &core.Error{Reason: core.ErrInvalidPolicy, Stage: core.StagePolicy, Detail: fmt.Sprintf(format, args...)}
	}
	if p.Network.Mode < core.NetworkNone || p.Network.Mode > core.NetworkUnconfined {
		return invalid("the policy does not say how much of the network it allows")
	}
	if p.Unix.Mode < core.UnixNone || p.Unix.Mode > core.UnixUnconfined {
		return invalid("the policy does not say which unix sockets it allows")
	}
	if p.Network.Mode != core.NetworkPorts && len(p.Network.Connect)+len(p.Network.Bind) > 0 {
		return invalid("the policy lists ports, but its network mode does not restrict ports")
	}
	if p.Unix.Mode == core.UnixUnconfined && len(p.Unix.Connect) > 0 {
		return invalid("the policy lists unix sockets, but does not restrict them")
	}
	if !p.Filesystem.Confined && len(p.Filesystem.Rules) > 0 {
		return invalid("the policy has path rules, but does not confine the filesystem")
	}
	for _, rule := range p.Filesystem.Rules {
		if rule.Access == 0 || rule.Access&^core.AllAccess != 0 {
			return invalid("the rule for %q has no access that is known", rule.Path)
		}
	}
	for _, d := range p.Require {
		if !d.Valid() {
			return invalid("there is no dimension %q; there are %v", d, core.Dimensions())
		}
	}
	for _, pair := range p.Environment.Set {
		if name, _, ok := strings.Cut(pair, "="); !ok || name == "" || strings.ContainsRune(pair, 0) {
			return invalid("%q is no NAME=VALUE", pair)
		}
	}
	return nil
}
