package core_test

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/pinfold/pinfold/core"
)

// A policy starts from a preset.
func Example() {
	policy := core.WorkspaceWrite("/home/me/project")
	policy.Filesystem.Rules = append(policy.Filesystem.Rules,
		core.PathRule{Path: "/home/me/project/.git", Access: core.Write, Deny: true})
	policy.Network = core.NetworkPolicy{Mode: core.NetworkPorts, Connect: []uint16{443}}
	policy.Require = append(policy.Require, core.Tracing)

	for _, d := range core.Dimensions() {
		switch {
		case policy.Requires(d):
			fmt.Println("required:", d)
		case policy.Asks(d):
			fmt.Println("wanted:  ", d)
		}
	}
	// Output:
	// required: fs.read
	// required: fs.write
	// wanted:   fs.execute
	// wanted:   fs.metadata
	// required: network
	// required: unix
	// required: environment
	// required: descriptors
	// required: cleanup
	// wanted:   signals
	// required: tracing
	// wanted:   terminal
	// wanted:   privileges
}

// Programs branch on the reason of an error, or on the kernel's answer.
func ExampleError() {
	var err error = &core.Error{
		Reason: core.ErrNotPermitted, Stage: core.StageOpen, Backend: "cgroup",
		Detail: "creating a cgroup", Path: "/sys/fs/cgroup/x", Errno: syscall.EACCES,
		Remedy: "run it as root",
	}
	fmt.Println(err)
	fmt.Println(errors.Is(err, core.ErrNotPermitted), errors.Is(err, fs.ErrPermission))
	// Output:
	// cgroup: creating a cgroup: "/sys/fs/cgroup/x": permission denied (run it as root)
	// true true
}
