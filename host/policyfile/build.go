package policyfile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pinfold/pinfold/core"
)

// builder makes a policy of a document, and knows the lines for its errors.
type builder struct {
	file  string
	lines lines
}

func (b *builder) wrong(key, remedy, format string, args ...any) error {
	return &Error{File: b.file, Line: b.lines[key], Detail: fmt.Sprintf(format, args...), Remedy: remedy}
}

func (b *builder) origin(key string) string {
	return fmt.Sprintf("%s:%d", printable(b.file), b.lines[key])
}

func (b *builder) build(d *document, workspace string) (core.Policy, error) {
	preset := "workspace-write"
	if d.Preset != nil {
		preset = *d.Preset
	}
	p, err := core.Preset(preset, workspace)
	if err != nil {
		return p, b.wrong("preset", "use "+oneOf(core.Presets()), "there is no preset %q", preset)
	}
	p.BestEffort = d.BestEffort
	for _, add := range []func(*document, *core.Policy) error{
		b.require, b.filesystem, b.network, b.unix, b.environment, b.limits,
	} {
		if err := add(d, &p); err != nil {
			return p, err
		}
	}
	return p, nil
}

func (b *builder) require(d *document, p *core.Policy) error {
	for i, word := range d.Require {
		dimension := core.Dimension(word)
		if !dimension.Valid() {
			var all []string
			for _, d := range core.Dimensions() {
				all = append(all, string(d))
			}
			return b.wrong(fmt.Sprintf("require[%d]", i), "there are "+strings.Join(all, ", "), "there is no dimension %q", word)
		}
		if !p.Requires(dimension) {
			p.Require = append(p.Require, dimension)
		}
	}
	return nil
}

func (b *builder) filesystem(d *document, p *core.Policy) error {
	fs := &d.Filesystem
	if fs.System != nil {
		if !p.Filesystem.Confined {
			return b.unconfined("filesystem.system", p)
		}
		p.Filesystem.System = *fs.System
	}
	for _, list := range []struct {
		key    string
		paths  []string
		access core.Access
	}{
		{"read", fs.Read, core.Read},
		{"write", fs.Write, core.Read | core.Write},
		{"exec", fs.Exec, core.Read | core.Execute},
		{"deny", fs.Deny, core.AllAccess},
	} {
		for i, path := range list.paths {
			key := fmt.Sprintf("filesystem.%s[%d]", list.key, i)
			if err := b.addRule(p, key, core.PathRule{Path: path, Access: list.access, Deny: list.key == "deny"}); err != nil {
				return err
			}
		}
	}
	for i, r := range fs.Rule {
		key := fmt.Sprintf("filesystem.rule[%d]", i)
		access, err := b.access(key, r.Access)
		if err == nil {
			err = b.addRule(p, key, core.PathRule{Path: r.Path, Access: access, Deny: r.Deny, Optional: r.Optional})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) unconfined(key string, p *core.Policy) error {
	return b.wrong(key, "use another preset", "the preset %q does not confine the filesystem, so there is nothing to add to", p.Name)
}

func (b *builder) addRule(p *core.Policy, key string, r core.PathRule) error {
	switch {
	case !p.Filesystem.Confined:
		return b.unconfined(key, p)
	case r.Path == "":
		return b.wrong(key, "", "the path is empty")
	case strings.ContainsRune(r.Path, 0):
		return b.wrong(key, "", "the path %q has a NUL byte in it", r.Path)
	}
	r.Origin = b.origin(key)
	p.Filesystem.Rules = append(p.Filesystem.Rules, r)
	return nil
}

var accesses = map[string]core.Access{"read": core.Read, "write": core.Write, "execute": core.Execute}

func (b *builder) access(key string, words []string) (core.Access, error) {
	if len(words) == 0 {
		return 0, b.wrong(key, `access = ["read", "write", "execute"] is all of it`, "the rule has no access")
	}
	var all core.Access
	for i, word := range words {
		access, ok := accesses[word]
		if !ok {
			at := fmt.Sprintf("%s.access[%d]", key, i)
			return 0, b.wrong(at, `use "read", "write" or "execute"`, "there is no access %q", word)
		}
		all |= access
	}
	return all, nil
}

func (b *builder) environment(d *document, p *core.Policy) error {
	env := &d.Environment
	if env.Inherit != nil {
		p.Environment.InheritAll = *env.Inherit
	}
	for i, name := range env.Pass {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return b.wrong(fmt.Sprintf("environment.pass[%d]", i), "give a value in [environment.set]", "%q is no name of a variable", name)
		}
		p.Environment.Pass = append(p.Environment.Pass, name)
	}
	for _, name := range slices.SortedFunc(maps.Keys(env.Set), cmp.Compare[string]) {
		value := env.Set[name]
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return b.wrong("environment.set."+name, "", "%q is no name of a variable", name)
		}
		if strings.ContainsRune(value, 0) {
			return b.wrong("environment.set."+name, "", "the value of %s has a NUL byte in it", name)
		}
		p.Environment.Set = append(p.Environment.Set, name+"="+value)
	}
	return nil
}
