package birth

import (
	"os"

	"github.com/pinfold/pinfold/core"
)

// A Command is what is started, and how it sits in its session and terminal.
// What its process may do is the matter of a [core.Birth].
type Command struct {
	// Path is the file to execute, used as given: no search in $PATH. It is
	// relative to Dir if it is relative.
	Path string
	// Args is the argument vector, Args[0] included.
	Args []string
	// Env is the whole environment, as NAME=value. Nil is an empty one.
	Env []string
	// Dir is the working directory, empty for the caller's.
	Dir string
	// Files are the descriptors of the command: Files[i] becomes descriptor i.
	// A nil entry is closed in the command, and so is every descriptor not
	// listed, whether it is close-on-exec or not. As with package os, a file
	// that was non-blocking becomes blocking.
	Files []*os.File

	// Setsid starts a new session, and with it a new process group.
	Setsid bool
	// ControllingTerminal becomes the controlling terminal of the new session,
	// with the command in its foreground. It needs Setsid; the file need not
	// be one of Files. A terminal that another session controls is refused.
	ControllingTerminal *os.File

	// Setpgid puts the command into the process group Pgid, or into a new one
	// of its own if Pgid is 0. It excludes Setsid.
	Setpgid bool
	Pgid    int
	// Foreground is the caller's controlling terminal, in whose foreground the
	// command's process group is put before the command runs. It implies
	// Setpgid; the file need not be one of Files.
	Foreground *os.File
}

// Start starts the command with the attributes of b, which may be nil, and
// returns once the command was executed or could not be: then nothing is left
// of it, and the error is an [*Error] (of which errors.Is sees the errno).
//
// The caller keeps the files of c and b, and must not close them before Start
// returns. It must Wait for the process, as for one of os.StartProcess, and
// must not have SIGCHLD ignored.
//
// Start may be called by many goroutines at once. A garbage collection of the
// calling program waits for a birth under way, as it does for os.StartProcess:
// nobody should stop or freeze a command that has not been executed yet.
func Start(c *Command, b *core.Birth) (*os.Process, error) {
	if b == nil {
		b = &core.Birth{}
	}
	if err := validate(c, b); err != nil {
		return nil, err
	}
	return start(c, b)
}
