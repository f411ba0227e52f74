package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/pinfold/pinfold/internal/matrix/trial"
)

var errNotThere = errors.New("not there")

// printOutcomes makes every attempt and prints what became of each: nothing if it succeeded, or else the error.
func printOutcomes() error {
	text, err := os.ReadFile(targetsFile)
	if err != nil {
		return err
	}
	var t targets
	if err := json.Unmarshal(text, &t); err != nil {
		return err
	}
	outcomes := map[string]string{}
	for _, attempt := range trial.Attempts {
		make, ok := attempts[attempt.Name]
		if !ok {
			return errors.New("nobody knows how to attempt " + attempt.Name)
		}
		outcomes[attempt.Name] = ""
		if err := make(&t); err != nil {
			outcomes[attempt.Name] = err.Error()
		}
	}
	return json.NewEncoder(os.Stdout).Encode(outcomes)
}

// attempts return nil if they succeeded.
var attempts = map[string]func(*targets) error{
	"read":   func(t *targets) error { _, err := os.ReadFile(t.Secret); return err },
	"list":   func(t *targets) error { _, err := os.ReadDir(t.Outside); return err },
	"link":   func(t *targets) error { return os.Link(t.Secret, "linked") },
	"create": func(t *targets) error { return os.WriteFile(filepath.Join(t.Outside, "new"), nil, 0o644) },
	"append": func(t *targets) error {
		file, err := os.OpenFile(filepath.Join(t.Outside, "append"), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		_, err = file.WriteString("more\n")
		return errors.Join(err, file.Close())
	},
	"truncate": func(t *targets) error { return syscall.Truncate(filepath.Join(t.Outside, "truncate"), 0) },
	"rename": func(t *targets) error {
		if err := os.WriteFile("inside", nil, 0o644); err != nil {
			return err
		}
		return os.Rename("inside", filepath.Join(t.Outside, "moved"))
	},
	"remove":     func(t *targets) error { return os.Remove(filepath.Join(t.Outside, "remove")) },
	"execute":    func(t *targets) error { return exec.Command(filepath.Join(t.Outside, "program")).Run() },
	"chmod":      func(t *targets) error { return os.Chmod(filepath.Join(t.Outside, "chmod"), 0o600) },
	"tcp":        tcp,
	"mptcp":      mptcp,
	"fastopen":   fastOpen,
	"udp":        udp,
	"listen":     listen,
	"socket":     func(t *targets) error { return reach(syscall.SOCK_STREAM, t.Servers.Stream) },
	"datagram":   func(t *targets) error { return reach(syscall.SOCK_DGRAM, t.Servers.Datagram) },
	"abstract":   func(t *targets) error { return reach(syscall.SOCK_STREAM, "@"+t.Servers.Abstract) },
	"manager":    manager,
	"variable":   variable,
	"descriptor": descriptor,
	"signal":     func(t *targets) error { return syscall.Kill(t.Process, syscall.SIGURG) },
	"environ":    environ,
	"ptrace":     ptrace,
	"terminal":   typeIntoTerminal,
	"namespace":  namespace,
	"daemon":     daemon,
	"cgroup":     leaveCgroup,
}

func variable(*targets) error {
	if _, ok := os.LookupEnv(secretVariable); !ok {
		return errNotThere
	}
	return nil
}

// descriptor looks for an open file that is the secret.
func descriptor(t *targets) error {
	for fd := range 256 {
		var stat syscall.Stat_t
		if syscall.Fstat(fd, &stat) == nil && stat.Dev == t.Device && stat.Ino == t.Inode {
			_, err := syscall.Pread(fd, make([]byte, 1), 0)
			return err
		}
	}
	return errNotThere
}
