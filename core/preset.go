package core

// The presets. Each call returns a fresh value that the caller may change.
//
// Paths that begin with "~/" are below the home directory of the user; the
// host settles them.

// ReadOnly lets a command read the workspace and the system, and write nothing
// but its private temporary directory.
func ReadOnly(workspace string) Policy {
	p := confining("read-only", workspace)
	p.Filesystem.Rules = append(p.Filesystem.Rules,
		PathRule{Path: workspace, Access: Read | Execute, Origin: "preset"})
	return p
}

// WorkspaceWrite lets a command read the system and read, write and execute in
// the workspace.
func WorkspaceWrite(workspace string) Policy {
	p := confining("workspace-write", workspace)
	p.Filesystem.Rules = append(p.Filesystem.Rules,
		PathRule{Path: workspace, Access: AllAccess, Origin: "preset"})
	return p
}

// Unrestricted confines nothing: the session is tracked, and every process of
// it is killed at its end.
func Unrestricted(workspace string) Policy {
	return Policy{
		Name:        "unrestricted",
		Workspace:   workspace,
		Network:     NetworkPolicy{Mode: NetworkUnconfined},
		Unix:        UnixPolicy{Mode: UnixUnconfined},
		Environment: EnvironmentPolicy{InheritAll: true},
		Require:     []Dimension{Descriptors},
	}
}

// Presets returns the names that [Preset] knows.
func Presets() []string { return []string{"read-only", "workspace-write", "unrestricted"} }

// Preset returns the preset of that name for a workspace, or an error of
// reason [ErrInvalidPolicy].
func Preset(name, workspace string) (Policy, error) {
	switch name {
	case "read-only":
		return ReadOnly(workspace), nil
	case "workspace-write":
		return WorkspaceWrite(workspace), nil
	case "unrestricted":
		return Unrestricted(workspace), nil
	}
	return Policy{}, &Error{
		Reason: ErrInvalidPolicy,
		Stage:  StagePolicy,
		Detail: "there is no preset " + quote(name),
		Remedy: "use read-only, workspace-write or unrestricted",
	}
}

func confining(name, workspace string) Policy {
	p := Policy{
		Name:        name,
		Workspace:   workspace,
		Filesystem:  Filesystem{Confined: true, System: true},
		Network:     NetworkPolicy{Mode: NetworkNone},
		Unix:        UnixPolicy{Mode: UnixNone},
		Environment: EnvironmentPolicy{Pass: append([]string(nil), harmlessVariables...)},
		Confine:     true,
		Require:     []Dimension{FSRead, FSWrite, Network, UnixSockets, Environment, Descriptors, Cleanup},
	}
	for _, path := range startupFiles {
		p.Filesystem.Rules = append(p.Filesystem.Rules,
			PathRule{Path: path, Access: Read, Optional: true, Origin: "preset"})
	}
	return p
}

// startupFiles configure shells and git. They are readable, since a shell
// without them misbehaves, and never writable: they run again outside.
var startupFiles = []string{
	"~/.profile", "~/.bash_profile", "~/.bash_login", "~/.bashrc", "~/.bash_logout",
	"~/.zshenv", "~/.zprofile", "~/.zshrc", "~/.zlogin", "~/.inputrc",
	"~/.config/fish/config.fish", "~/.gitconfig", "~/.config/git",
}

// harmlessVariables are the variables that programs need and that hold no
// secret by convention. Everything else has to be passed by name.
var harmlessVariables = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "TZ", "LANG", "LANGUAGE", "LC_*",
	"TERM", "COLORTERM", "TERM_PROGRAM", "NO_COLOR", "CLICOLOR", "FORCE_COLOR", "LINES", "COLUMNS",
	"EDITOR", "VISUAL", "PAGER", "MANPAGER", "LESS", "LS_COLORS",
	"XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
	"CI", "CC", "CXX", "AR", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "PKG_CONFIG_PATH", "MAKEFLAGS", "MAKELEVEL",
	"GOROOT", "GOPATH", "GOBIN", "GOCACHE", "GOMODCACHE", "GOFLAGS", "GOTOOLCHAIN", "GOOS", "GOARCH", "CGO_ENABLED",
	"CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "JAVA_HOME", "NODE_ENV", "NVM_DIR", "PYENV_ROOT",
	"VIRTUAL_ENV", "CONDA_PREFIX", "SOURCE_DATE_EPOCH",
}
