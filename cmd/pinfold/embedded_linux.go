package main

import (
	"github.com/pinfold/pinfold/plugins/cgroup"
	"github.com/pinfold/pinfold/plugins/landlock"
	"github.com/pinfold/pinfold/sdk"
)

// embedded are the backends that this program serves by itself.
var embedded = map[string]func(){
	landlock.Name: func() { sdk.Serve(sdk.Backends{Confiner: landlock.New()}) },
	cgroup.Name:   func() { sdk.Serve(sdk.Backends{Tracker: cgroup.New()}) },
}
