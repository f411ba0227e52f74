//go:build linux

package landlock

import (
	"fmt"

	"github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// rights are the things that Landlock can handle, by the attribute of
// landlock_create_ruleset(2) and the flags that they belong to.
type rights struct {
	fs       uint64 // handled_access_fs
	net      uint64 // handled_access_net
	scoped   uint64 // scoped
	restrict uint64 // flags of landlock_restrict_self(2)
	rule     uint64 // flags of landlock_add_rule(2)
}

func (r rights) union(o rights) rights {
	return rights{r.fs | o.fs, r.net | o.net, r.scoped | o.scoped, r.restrict | o.restrict, r.rule | o.rule}
}

func (r rights) intersect(o rights) rights {
	return rights{r.fs & o.fs, r.net & o.net, r.scoped & o.scoped, r.restrict & o.restrict, r.rule & o.rule}
}

// has reports whether every one of o is in r.
func (r rights) has(o rights) bool { return r.intersect(o) == o }

// An abi is one version of Landlock's interface.
type abi struct {
	version int
	// kernel is the first mainline release with it.
	kernel string
	adds   rights
	// gives says in words what the version can hold that earlier ones cannot.
	gives string
}

func (a abi) String() string { return fmt.Sprintf("Landlock ABI %d (Linux %s)", a.version, a.kernel) }

// abis has every version that this package knows, from the first on, each at the
// index of its number. Sources: <linux/landlock.h>, Documentation/userspace-api/
// landlock.rst and landlock(7). Version 0 stands for a kernel without Landlock.
var abis = []abi{
	{version: 0},
	{1, "5.13", rights{fs: 1<<13 - 1},
		"reading, writing and executing by path; tracing of processes outside"},
	{2, "5.19", rights{fs: syscall.AccessFSRefer},
		"renames and links between directories, which version 1 always denies"},
	{3, "6.2", rights{fs: syscall.AccessFSTruncate},
		"truncating files"},
	{4, "6.7", rights{net: syscall.AccessNetBindTCP | syscall.AccessNetConnectTCP},
		"TCP ports"},
	{5, "6.10", rights{fs: syscall.AccessFSIoctlDev},
		"ioctl on devices"},
	{6, "6.12", rights{scoped: syscall.ScopeAbstractUnixSocket | syscall.ScopeSignal},
		"signals and abstract unix sockets"},
	{7, "6.15", rights{restrict: syscall.FlagRestrictSelfLogSameExecOff |
		syscall.FlagRestrictSelfLogNewExecOn | syscall.FlagRestrictSelfLogSubdomainsOff},
		"control of audit records"},
	{8, "7.0", rights{restrict: syscall.FlagRestrictSelfTSync},
		"restricting all threads of a process at once"},
	{9, "7.1", rights{fs: syscall.AccessFSResolveUnix},
		"unix sockets by path"},
	{10, "7.2", rights{net: syscall.AccessNetBindUDP | syscall.AccessNetConnectSendUDP, rule: syscall.FlagAddRuleQuiet},
		"UDP ports"},
	{11, "7.3", rights{restrict: syscall.FlagRestrictSelfNoNewPrivs},
		"no_new_privs together with the restriction"},
}

// newestABI is the newest version that this package knows. A kernel that offers a
// newer one is used as this one: versions only add.
func newestABI() int { return abis[len(abis)-1].version }

// supportedBy returns everything that the version can handle.
func supportedBy(version int) rights {
	var all rights
	for _, a := range abis {
		if a.version <= version {
			all = all.union(a.adds)
		}
	}
	return all
}

// firstWith returns the first version that handles all of want.
func firstWith(want rights) abi {
	for _, a := range abis {
		if supportedBy(a.version).has(want) {
			return a
		}
	}
	panic(fmt.Sprintf("landlock: bug: no ABI handles %+v", want))
}
