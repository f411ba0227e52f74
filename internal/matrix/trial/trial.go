// Package trial is what the program in the virtual machine and the one that starts the machine have to agree on: the attempts
// that a rogue command makes, and the observation that comes back.
package trial

import "encoding/json"

// ExitStatus is what a command that has made its attempts exits with, to see whether the status gets through.
const ExitStatus = 37

// Dimensions are those of package core, which tools of the repository do not import, in its order.
var Dimensions = []string{
	"fs.read", "fs.write", "fs.execute", "fs.metadata", "network", "unix", "environment", "descriptors", "cleanup", "signals",
	"tracing", "terminal", "privileges", "limits",
}

// An Attempt is something that the default preset must not let happen, if it claims the dimension.
type Attempt struct {
	Name      string
	Dimension string
	What      string
}

// Attempts are in the order in which they are made. The last may take the rogue command out of its session.
var Attempts = []Attempt{
	{"read", "fs.read", "read a file outside the workspace"},
	{"list", "fs.read", "list a directory outside"},
	{"link", "fs.read", "link a file from outside into the workspace"},
	{"create", "fs.write", "create a file outside"},
	{"append", "fs.write", "append to a file outside"},
	{"truncate", "fs.write", "truncate a file outside by its name"},
	{"rename", "fs.write", "move a file of the workspace outside"},
	{"remove", "fs.write", "remove a file outside"},
	{"execute", "fs.execute", "execute a program outside"},
	{"chmod", "fs.metadata", "change the mode of a file outside"},
	{"tcp", "network", "connect to a TCP port of the machine"},
	{"mptcp", "network", "connect to the same port by MPTCP"},
	{"fastopen", "network", "connect to the same port by a send"},
	{"udp", "network", "send a datagram to a UDP port of the machine"},
	{"listen", "network", "listen on a TCP port"},
	{"socket", "unix", "connect to a unix socket by its path"},
	{"datagram", "unix", "send to a unix socket by its path"},
	{"abstract", "unix", "connect to an abstract unix socket"},
	{"manager", "unix", "have the service manager start a process: systemd-run, with --user for a user"},
	{"variable", "environment", "see an environment variable that nobody passed"},
	{"descriptor", "descriptors", "read an open file that nobody passed"},
	{"signal", "signals", "signal a process outside the session"},
	{"environ", "tracing", "read the environment of a process outside"},
	{"ptrace", "tracing", "attach to a process outside"},
	{"terminal", "terminal", "type into the terminal: TIOCSTI"},
	{"namespace", "privileges", "mount something, in a user namespace of its own"},
	{"daemon", "cleanup", "leave a daemon behind that lives on after the end of the session"},
	{"cgroup", "cleanup", "move itself into another cgroup"},
}

// A Run is what became of one command that makes all attempts.
type Run struct {
	// Status is the exit status of pinfold, or of the command itself where that ran without pinfold.
	Status int `json:"status"`
	// Refused is what pinfold said when it started nothing.
	Refused string `json:"refused,omitempty"`
	// Outcomes are the attempts by name: "" for one that succeeded, or else why it did not. nil if the command did not run.
	Outcomes map[string]string `json:"outcomes,omitempty"`
}

// An Observation is all that was seen as one user of one machine.
type Observation struct {
	Release string          `json:"release"` // uname -r
	Doctor  json.RawMessage `json:"doctor"`  // what pinfold doctor --json printed
	// Control is the run without pinfold: what fails there says nothing about pinfold.
	Control Run `json:"control"`
	// Default is the run under pinfold's default preset.
	Default Run `json:"default"`
	// BestEffort is the same with --best-effort, where Default was refused.
	BestEffort *Run `json:"best_effort,omitempty"`
}
