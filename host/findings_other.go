//go:build !linux || !(amd64 || arm64)

package host

import "github.com/pinfold/pinfold/core"

func descriptorsFinding() core.Finding {
	return core.Finding{
		Dimension: core.Descriptors, Level: core.Partial, Mechanism: "close-on-exec",
		Gap: "descriptors that the host inherited from its own parent without close-on-exec stay open",
	}
}
