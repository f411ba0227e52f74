//go:build linux && (amd64 || arm64)

package birth

func printAttempt(args []string) {}
