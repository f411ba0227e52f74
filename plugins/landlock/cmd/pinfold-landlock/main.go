// Command pinfold-landlock is the Landlock confiner as a backend of its own. A
// host starts it; started by a person it says so and ends.
package main

import (
	"github.com/pinfold/pinfold/plugins/landlock"
	"github.com/pinfold/pinfold/sdk"
)

func main() { sdk.Serve(sdk.Backends{Confiner: landlock.New()}) }
