// Pinfold-cgroup is the cgroup tracker as a backend of its own. A Pinfold host
// starts it; see package cgroup for what it does.
package main

import (
	"github.com/pinfold/pinfold/plugins/cgroup"
	"github.com/pinfold/pinfold/sdk"
)

func main() { sdk.Serve(sdk.Backends{Tracker: cgroup.New()}) }
