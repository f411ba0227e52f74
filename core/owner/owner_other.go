//go:build !linux && !darwin

package owner

import (
	"runtime"

	"github.com/pinfold/pinfold/core"
)

func bootID() (string, error) { return "", unsupported() }

func startTime(int) (uint64, error) { return 0, unsupported() }

func unsupported() error {
	return &core.Error{
		Reason: core.ErrUnsupported,
		Detail: "telling processes apart for good is not supported on " + runtime.GOOS,
		Remedy: "use Linux or macOS",
	}
}
