package core

import "context"

// ContractVersion is the major version of the contract between a host and its
// backends: the proto package pinfold.backend.v1 and go-plugin's protocol
// version 1.
const ContractVersion = 1

// A Backend is what confiners and trackers have in common.
//
// A host starts a backend on first use, may call every method from several
// goroutines at once, sets a deadline on every call, and starts a new process
// of it when one dies. A backend therefore holds no state that it could not
// find again from the arguments of a call and the kernel.
type Backend interface {
	// Describe says what the backend is. It asks the kernel nothing, always
	// gives the same answer and does not fail.
	Describe(ctx context.Context) (*Description, error)

	// Probe finds out what this machine can enforce, without changing it. What
	// the machine lacks is in the result, not in the error; the error is for
	// not being able to find out.
	Probe(ctx context.Context) (*Capability, error)
}

// A Description identifies a backend.
type Description struct {
	// Name is the backend's own name ("landlock"); handles carry it.
	Name string `json:"name"`
	// Version is the backend's semantic version, without a leading v.
	Version string `json:"version"`
	// Platform is the operating system and architecture it was built for
	// ("linux/amd64").
	Platform string `json:"platform"`
	// Features are the names of what the backend can read in a request beyond
	// the base of the contract. A request that depends on another is refused.
	Features []string `json:"features"`
}

// Features of contract version 1. A host puts into a request's required
// features every one that the request depends on.
const (
	// FeatureDenyRules: a policy has path rules that deny.
	FeatureDenyRules = "policy/deny-rules"
	// FeatureNetworkPorts: a policy restricts the network to ports.
	FeatureNetworkPorts = "policy/network-ports"
	// FeatureUnixPaths: a policy grants unix sockets by path.
	FeatureUnixPaths = "policy/unix-paths"
	// FeatureProcessLimits: a policy bounds the open files, file size or core
	// dumps of each process.
	FeatureProcessLimits = "policy/process-limits"
	// FeatureSessionLimits: a session's processes or memory are bounded.
	FeatureSessionLimits = "session/limits"
	// FeatureDetached: a session outlives its owner.
	FeatureDetached = "session/detached"
	// FeatureMoveOwner: the tracker may move the owner's process into another
	// cgroup. It is a permission, not a demand: a tracker that has the feature
	// may do without, and a host withholds the permission from one that has not.
	FeatureMoveOwner = "session/move-owner"
)

// A Capability is what a machine can enforce.
type Capability struct {
	// Findings has one entry for each dimension that the backend is about, for
	// a policy that asks for everything.
	Findings []Finding `json:"findings"`
	// Facts are what the findings rest on, in the order in which a person wants
	// to read them.
	Facts []Fact `json:"facts"`
}

// A Fact is one observation about the machine.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}
