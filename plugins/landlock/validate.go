//go:build linux

package landlock

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/pinfold/pinfold/core"
)

// validate refuses a request that contradicts itself or that holds a value this
// package does not know. What it lets through, Plan understands entirely.
func validate(req *core.PlanRequest) error {
	p := &req.Policy
	if !p.Filesystem.Confined && (len(p.Filesystem.Rules) > 0 || p.Filesystem.System) {
		return invalid("", "the policy has path rules but does not confine the filesystem")
	}
	for _, r := range p.Filesystem.Rules {
		if err := validateRule(r); err != nil {
			return err
		}
	}
	if err := validateNetwork(p.Network); err != nil {
		return err
	}
	if err := validateUnix(p.Unix); err != nil {
		return err
	}
	for _, d := range p.Require {
		if !slices.Contains(core.Dimensions(), d) {
			return unknown("the policy requires the dimension " + strconv.QuoteToASCII(string(d)))
		}
	}
	for _, c := range req.Contributions {
		return unknown("a contribution in the dialect " + strconv.QuoteToASCII(c.Dialect) + ", and this backend carries none")
	}
	for _, c := range req.Constraints {
		if c.Kind != core.NoWriteBelow && c.Kind != core.NoConnect {
			return unknown("a constraint of kind " + strconv.Itoa(int(c.Kind)))
		}
		if err := validatePath(c.Path, "the path of a constraint"); err != nil {
			return err
		}
	}
	return nil
}

func validateRule(r core.PathRule) error {
	if r.Access&^core.AllAccess != 0 {
		return unknown("a path rule with the access bits " + strconv.FormatUint(uint64(r.Access), 16))
	}
	if r.Access == 0 {
		return invalid(r.Path, "the path rule names no access")
	}
	return validatePath(r.Path, "the path of a rule")
}

func validateNetwork(n core.NetworkPolicy) error {
	switch n.Mode {
	case core.NetworkNone, core.NetworkAll, core.NetworkUnconfined:
		if len(n.Connect) > 0 || len(n.Bind) > 0 {
			return invalid("", "the policy lists ports, but its network mode is not the one for ports")
		}
	case core.NetworkPorts:
		if slices.Contains(n.Connect, 0) {
			return invalid("", "port 0 cannot be connected to")
		}
	case 0:
		return invalid("", "the policy has no network mode")
	default:
		return unknown("network mode " + strconv.Itoa(int(n.Mode)))
	}
	return nil
}

func validateUnix(u core.UnixPolicy) error {
	switch u.Mode {
	case core.UnixNone:
	case core.UnixUnconfined:
		if len(u.Connect) > 0 {
			return invalid("", "the policy lists unix sockets, but does not confine them")
		}
	case 0:
		return invalid("", "the policy has no mode for unix sockets")
	default:
		return unknown("unix socket mode " + strconv.Itoa(int(u.Mode)))
	}
	for _, p := range u.Connect {
		if err := validatePath(p, "the path of a unix socket"); err != nil {
			return err
		}
	}
	return nil
}

// pathMax is the kernel's PATH_MAX, with the byte that ends a path.
const pathMax = 4096

// validatePath refuses what the host should have settled, and what means another
// file in every process: a path below the process's own entry in /proc.
func validatePath(p, what string) error {
	switch {
	case len(p) >= pathMax:
		return invalid(p, what+" is too long")
	case strings.IndexByte(p, 0) >= 0:
		return invalid(p, what+" has a NUL byte")
	case !path.IsAbs(p):
		return invalid(p, what+" is not absolute")
	case path.Clean(p) != p:
		return invalid(p, what+" is not clean: it has \"..\", \".\" or a superfluous slash")
	case within(p, "/proc/self"), within(p, "/proc/thread-self"):
		return invalid(p, what+" is below /proc/self, which is another file in every process")
	}
	return nil
}

func invalid(path, detail string) error {
	return &core.Error{Reason: core.ErrInvalidPolicy, Stage: core.StagePlan, Backend: Name, Detail: detail, Path: path}
}

func unknown(what string) error {
	return &core.Error{Reason: core.ErrUnknownFeature, Stage: core.StagePlan, Backend: Name,
		Detail: "the request has " + what + ", which this backend does not know", Remedy: "use a newer version of the backend"}
}
