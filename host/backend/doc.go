// Package backend finds backends, runs each in a process of its own, and calls
// it over the contract.
//
// A [Supervisor] is one backend. It starts the process on the first call, with
// an explicit environment and in a session of its own, so that a Ctrl-C meant
// for the command does not reach it. Every call has a deadline. A process that
// dies is replaced and the call repeated once, which the contract allows, since
// every method is idempotent; one that misses two deadlines in a row is killed.
//
// How the pitfalls of go-plugin are met:
//
//   - A backend must not outlive its host: each gets a lifeline (core/lifeline)
//     and ends at its end of file.
//   - A backend's death must be noticed at once, even while a descendant of it
//     holds its standard output: the lifeline's end of file or the process's own
//     end counts, not Exited, and the outputs are read only a little longer.
//   - Nobody but the host may call: both ends check the peer's pid
//     (core/peercred), and the socket lies in a directory of mode 0700.
//   - go-plugin hands the host's standard input and environment to a backend:
//     the process is started by a runner of this package, which does neither.
//   - Anything on standard output before the handshake makes go-plugin give up:
//     the runner passes on the handshake alone.
//   - A graceful stop cuts calls in flight: the supervisor sends SIGTERM, and
//     the SDK drains.
//   - Only the handshake has a time-out: a start as a whole has one here.
//   - A backend that dies between handshake and connection can hold up go-plugin
//     for 20 seconds and leave a connection and a broker behind in the host: an
//     interceptor notices the death and takes hold of both.
//   - A client is single-use: each start makes a new one. Reattaching is not
//     used: a backend holds no state, so it is restarted.
//   - The broker is not used. What a backend prints over go-plugin's
//     synchronised streams is logged; logs proper are lines on standard error.
package backend
