// Mustrun reads the output of go test -json on standard input and writes a log that a person can read: the closing line of
// each package as go test prints it, the whole output of every test that failed, and the reason of every test that skipped.
//
// With -list FILE it also holds the run to a list of tests that must not skip. A test against a real kernel skips where the
// kernel, the privileges or a tool are missing, which is right on somebody's laptop and wrong on the machine whose verdict
// counts: there a green run that proved nothing must turn red. A listed test that skipped, failed or did not run fails the run.
//
// The list has one entry on each line, a package and a test:
//
//	# comment
//	host/birth      TestEveryStep
//	plugins/cgroup  TestKill*
//	plugins/cgroup  TestHostile/...
//	internal/*      TestNames/short
//
// The package is relative to the module, "." being the module's root. Both fields are patterns of path.Match, in which * does
// not match a slash, so TestKill* covers no subtest; a trailing /... stands for the test itself and all of its subtests. An
// entry must match at least one test, and every test that it matches must pass. A test that is run twice, in one stream, must
// pass once and never fail.
//
// The exit status is 0 when nothing failed, 1 when a test, a build or an entry of the list did, 2 when the input or the list
// can't be read. An input in which no package reports a result is a failure too. Give the shell pipefail, for what go test
// reports on standard error alone.
package main
