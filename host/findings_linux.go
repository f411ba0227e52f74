//go:build amd64 || arm64

package host

import "github.com/pinfold/pinfold/core"

func descriptorsFinding() core.Finding {
	return core.Finding{Dimension: core.Descriptors, Level: core.Enforced, Mechanism: "the host closes all that were not given"}
}
