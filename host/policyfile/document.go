package policyfile

// document is a policy file as it is written.
type document struct {
	Preset     *string  `toml:"preset"`
	Require    []string `toml:"require"`
	BestEffort bool     `toml:"best_effort"`
	Filesystem struct {
		System *bool    `toml:"system"`
		Read   []string `toml:"read"`
		Write  []string `toml:"write"`
		Exec   []string `toml:"exec"`
		Deny   []string `toml:"deny"`
		Rule   []rule   `toml:"rule"`
	} `toml:"filesystem"`
	Network struct {
		Mode    *string `toml:"mode"`
		Connect []int64 `toml:"connect"`
		Bind    []int64 `toml:"bind"`
	} `toml:"network"`
	Unix struct {
		Connect []string `toml:"connect"`
	} `toml:"unix"`
	Environment struct {
		Inherit *bool             `toml:"inherit"`
		Pass    []string          `toml:"pass"`
		Set     map[string]string `toml:"set"`
	} `toml:"environment"`
	Limits struct {
		Processes *int64 `toml:"processes"`
		Memory    any    `toml:"memory"`
		OpenFiles *int64 `toml:"open_files"`
		FileSize  any    `toml:"file_size"`
		CoreDumps *bool  `toml:"core_dumps"`
	} `toml:"limits"`
}

type rule struct {
	Path     string   `toml:"path"`
	Access   []string `toml:"access"`
	Deny     bool     `toml:"deny"`
	Optional bool     `toml:"optional"`
}

// keys are the keys of each table, in the order of the documentation. A test
// compares them with document.
var keys = map[string][]string{
	"":                {"preset", "require", "best_effort", "filesystem", "network", "unix", "environment", "limits"},
	"filesystem":      {"system", "read", "write", "exec", "deny", "rule"},
	"filesystem.rule": {"path", "access", "deny", "optional"},
	"network":         {"mode", "connect", "bind"},
	"unix":            {"connect"},
	"environment":     {"pass", "inherit", "set"},
	"limits":          {"processes", "memory", "open_files", "file_size", "core_dumps"},
}
