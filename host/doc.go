// Package host runs commands in sessions: confined as a policy says, and every
// process of them killed at the end.
//
//	h, err := host.New(host.Options{})
//	...
//	defer h.Close()
//	s, err := h.Open(ctx, core.WorkspaceWrite("/home/me/project"))
//	...
//	cmd := s.Command("make", "test")
//	cmd.Stdout = os.Stdout
//	err = cmd.Run()
//	report, err := s.Close(ctx)
//
// A [Host] loads a confiner and a tracker, each a process of its own. A [Session]
// is one policy and any number of commands; a [Cmd] reads like os/exec's. The
// host itself starts the commands, so standard streams, exit statuses, terminals
// and parentage are its own.
//
// Open fails if a required part of the policy cannot be enforced here, unless
// the policy says best effort. Either way [Session.Enforcement] tells what holds.
package host
