package cgroup

import (
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/core/owner"
)

// A Tracker tracks sessions by cgroups. Make it with [New]. What it remembers
// is about the machine and its own host, never about a session.
type Tracker struct {
	timeout time.Duration
	// killName is the file that kills a cgroup at once. Tests name one that no
	// kernel has.
	killName string

	uid  int
	view view

	mu    sync.Mutex
	bases map[baseKey]string      // directories that sessions were made below
	hosts map[core.Owner]struct{} // who opened sessions through this process

	moving sync.Mutex          // held while an owner is moved
	moved  map[core.Owner]bool // owners that this process has moved

	// Open holds gate for reading, HostGone for writing, so that no session is
	// made that HostGone does not see.
	gate     sync.RWMutex
	hostGone bool
}

// New returns a tracker. It asks nothing of the machine that can fail: what it
// cannot do, Probe and Open say.
func New(options ...Option) *Tracker {
	t := &Tracker{
		timeout:  DefaultKillTimeout,
		killName: "cgroup.kill",
		uid:      os.Geteuid(),
		view:     view{pidNS: namespace("pid"), timeNS: namespace("time")},
		bases:    map[baseKey]string{},
		hosts:    map[core.Owner]struct{}{},
		moved:    map[core.Owner]bool{},
	}
	// A tracker that takes over from one that died has not seen its host open
	// the sessions. The host is its parent.
	if host, err := owner.Of(os.Getppid()); err == nil {
		t.hosts[host] = struct{}{}
	}
	for _, option := range options {
		option(t)
	}
	return t
}

// namespace returns the inode number that identifies a namespace of the
// process, 0 where the kernel has none of that kind (namespaces(7)).
func namespace(kind string) uint64 {
	var st unix.Stat_t
	if unix.Stat("/proc/self/ns/"+kind, &st) != nil {
		return 0
	}
	return st.Ino
}
