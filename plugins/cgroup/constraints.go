package cgroup

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pinfold/pinfold/core"
)

// Reasons for constraints, shared by several entries.
const (
	whyCgroup    = "a process could move itself to another cgroup"
	whyManager   = "the service manager would start a program outside of the session"
	whyContainer = "the container engine would start a program outside of the session"
	whyMachine   = "the machine manager would start a program outside of the session"
	whyTerminal  = "a program that runs outside of the session would be told to start another"
)

// A broker is a service that starts programs for those who connect to it.
type broker struct{ path, why string }

// brokers are the unix sockets of the services that are known to start programs
// on request, at their default paths; "%d" is the user id. /var/run is /run on
// every current distribution, and canonical paths do not go through it.
var brokers = []broker{
	// systemd: the message buses, the manager's private socket, and its
	// varlink socket (systemd 258; StartTransient in 261).
	{"/run/dbus/system_bus_socket", whyManager},
	{"/run/systemd/private", whyManager},
	{"/run/systemd/io.systemd.Manager", whyManager},
	{"/run/user/%d/bus", whyManager},
	{"/run/user/%d/systemd/private", whyManager},
	{"/run/user/%d/systemd/io.systemd.Manager", whyManager},

	{"/run/docker.sock", whyContainer},
	{"/run/user/%d/docker.sock", whyContainer},
	{"/run/containerd/containerd.sock", whyContainer},
	{"/run/k3s/containerd/containerd.sock", whyContainer},
	{"/run/crio/crio.sock", whyContainer},
	{"/run/podman/podman.sock", whyContainer},
	{"/run/user/%d/podman/podman.sock", whyContainer},
	{"/run/buildkit/buildkitd.sock", whyContainer},
	{"/run/user/%d/buildkit/buildkitd.sock", whyContainer},
	{"/run/snapd.socket", whyContainer},

	{"/run/systemd/machine/io.systemd.Machine", whyMachine},
	{"/run/libvirt/libvirt-sock", whyMachine},
	{"/run/libvirt/virtqemud-sock", whyMachine},
	{"/run/user/%d/libvirt/libvirt-sock", whyMachine},
	{"/run/user/%d/libvirt/virtqemud-sock", whyMachine},
	{"/var/lib/incus/unix.socket", whyMachine},
	{"/var/lib/lxd/unix.socket", whyMachine},
	{"/var/snap/lxd/common/lxd/unix.socket", whyMachine},

	{"/tmp/tmux-%d/default", whyTerminal},
	{"/run/user/%d/emacs/server", whyTerminal},
	{"/tmp/.X11-unix/X0", whyTerminal},
	{"/tmp/.X11-unix/X1", whyTerminal},
}

// constraints returns what must hold so that no process leaves a session of
// this user on a machine with these mounts, in a fixed order.
func constraints(mounts []mount, uid int) []core.Constraint {
	var all []core.Constraint
	for _, point := range cgroupFilesystems(mounts) {
		all = append(all, core.Constraint{Kind: core.NoWriteBelow, Path: point, Why: whyCgroup})
	}
	for _, b := range brokers {
		path := b.path
		if strings.Contains(path, "%d") {
			path = fmt.Sprintf(path, uid)
		}
		all = append(all, core.Constraint{Kind: core.NoConnect, Path: path, Why: b.why})
	}
	return all
}

// cgroupFilesystems returns the directories below which the cgroup filesystems
// are, without those below another one. Version 1 is among them: it does not
// move a process between v2 cgroups, but the release_agent of a v1 hierarchy is
// a program that the kernel starts, as root and in no session (cgroups(7)).
func cgroupFilesystems(mounts []mount) []string {
	points := []string{"/sys/fs/cgroup"}
	for _, m := range mounts {
		if m.fsType == "cgroup" || m.fsType == "cgroup2" {
			points = append(points, m.point)
		}
	}
	slices.Sort(points)
	var top []string
	for _, point := range slices.Compact(points) {
		if !slices.ContainsFunc(top, func(above string) bool { return within(point, above) }) {
			top = append(top, point)
		}
	}
	return top
}
