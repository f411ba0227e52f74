//go:build unix && !(linux && (amd64 || arm64))

package job

import "syscall"

// Elsewhere pinfold is stopped by the terminal together with the command, and
// does not notice when the command stops or goes on by itself.

type following struct{}

func (r *Relay) watchStops()   { r.following = following{} }
func (r *Relay) unwatchStops() {}
func (r *Relay) follow()       {}
func (r *Relay) continued()    {}

func (r *Relay) stop(syscall.Signal) {}
