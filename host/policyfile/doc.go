// Package policyfile reads policies from TOML files.
//
// A file builds on a preset and adds to it. Every key is optional:
//
//	preset = "workspace-write"       # or "read-only", "unrestricted"; this is the default
//	require = ["signals", "limits"]  # dimensions without which nothing starts, beside the preset's
//	best_effort = false              # true: start although something required is not enforced
//
//	[filesystem]
//	system = true                    # what programs need to run at all (libraries, /dev/null, …)
//	read = ["~/.cargo/registry"]     # read
//	write = ["/var/cache/project"]   # read and write
//	exec = ["/opt/toolchain"]        # read and execute
//	deny = [".env", ".git/hooks"]    # nothing at all, whatever else grants it
//
//	[[filesystem.rule]]              # anything more special
//	path = ".git/config"
//	access = ["write"]               # of "read", "write", "execute"
//	deny = true                      # take away instead of granting
//	optional = true                  # nothing to remark if it does not exist
//
//	[network]
//	mode = "ports"                   # or "none", "all"; listing ports means "ports"
//	connect = [443]                  # TCP ports to connect to
//	bind = [8080]                    # TCP ports to listen on; 0 is one of the kernel's choice
//
//	[unix]
//	connect = ["/run/postgresql/.s.PGSQL.5432"]
//
//	[environment]
//	pass = ["GITHUB_*"]              # variables to pass, a final * stands for any ending
//	inherit = false                  # true: pass all of them
//	[environment.set]
//	CI = "1"
//
//	[limits]
//	processes = 200                  # processes and threads of the session
//	memory = "2GiB"                  # of the session
//	open_files = 1024                # of each process
//	file_size = "1GiB"               # of each process
//	core_dumps = false
//
// A path that begins with "~/" is below the home directory; a relative one is
// below the workspace and cannot lead out of it with "..". A size is a number of
// bytes, or a string of a number and one of B, KiB, MiB, GiB, TiB, kB, MB, GB, TB.
//
// Nothing is passed over in silence: a key that is not listed here, a value that
// makes no sense and a rule that contradicts the preset are errors of type
// [*Error], which name the file and the line.
package policyfile
