//go:build !linux && !darwin

package host

func standardBackends() (confiner, tracker string) { return "", "" }
