package landlock

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// runOps is the confined child: it reads operations, tries each, and prints what
// became of them.
func runOps() int {
	var ops [][]string
	if err := json.NewDecoder(os.Stdin).Decode(&ops); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	results := make([]string, len(ops))
	for i, op := range ops {
		do, ok := operations[op[0]]
		if !ok {
			fmt.Fprintln(os.Stderr, "no operation", op[0])
			return 1
		}
		results[i] = outcome(do(op[1:]))
	}
	if err := json.NewEncoder(os.Stdout).Encode(results); err != nil {
		return 1
	}
	return 0
}

func outcome(err error) string {
	var errno unix.Errno
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &errno):
		return unix.ErrnoName(errno)
	}
	return err.Error()
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

func openAnd(path string, flags int, use func(fd int) error) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if use == nil {
		return nil
	}
	return use(fd)
}

func writeX(fd int) error {
	_, err := unix.Write(fd, []byte("x"))
	return err
}

// operations are single attempts, each named by a word of the tests' tables.
var operations = map[string]func([]string) error{
	"read": func(a []string) error {
		return openAnd(a[0], unix.O_RDONLY, func(fd int) error {
			_, err := unix.Read(fd, make([]byte, 16))
			return err
		})
	},
	"readable": func(a []string) error { // reads, and wants the text
		return openAnd(a[0], unix.O_RDONLY, func(fd int) error {
			buf := make([]byte, 4096)
			n, err := unix.Read(fd, buf)
			if err == nil && !strings.Contains(string(buf[:n]), a[1]) {
				return errors.New("other content")
			}
			return err
		})
	},
	"mmap": func(a []string) error {
		return openAnd(a[0], unix.O_RDONLY, func(fd int) error {
			m, err := unix.Mmap(fd, 0, 1, unix.PROT_READ, unix.MAP_SHARED)
			if err == nil {
				err = unix.Munmap(m)
			}
			return err
		})
	},
	"write":     func(a []string) error { return openAnd(a[0], unix.O_WRONLY, writeX) },
	"openwrite": func(a []string) error { return openAnd(a[0], unix.O_WRONLY, nil) },
	"append":    func(a []string) error { return openAnd(a[0], unix.O_WRONLY|unix.O_APPEND, writeX) },
	"otrunc":    func(a []string) error { return openAnd(a[0], unix.O_WRONLY|unix.O_TRUNC, nil) },
	"rotrunc":   func(a []string) error { return openAnd(a[0], unix.O_RDONLY|unix.O_TRUNC, nil) },
	"open3":     func(a []string) error { return openAnd(a[0], 3|unix.O_TRUNC, nil) },
	"truncate":  func(a []string) error { return unix.Truncate(a[0], 0) },
	"create":    func(a []string) error { return openAnd(a[0], unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, nil) },
	"tmpfile":   func(a []string) error { return openAnd(a[0], unix.O_WRONLY|unix.O_TMPFILE, writeX) },
	"touch":     func(a []string) error { return openAnd(a[0], unix.O_WRONLY|unix.O_CREAT, nil) },
	"unlink":    func(a []string) error { return unix.Unlink(a[0]) },
	"mkdir":     func(a []string) error { return unix.Mkdir(a[0], 0o700) },
	"rmdir":     func(a []string) error { return unix.Rmdir(a[0]) },
	"rename":    func(a []string) error { return unix.Rename(a[0], a[1]) },
	"exchange": func(a []string) error {
		return unix.Renameat2(unix.AT_FDCWD, a[0], unix.AT_FDCWD, a[1], unix.RENAME_EXCHANGE)
	},
	"link":    func(a []string) error { return unix.Link(a[0], a[1]) },
	"symlink": func(a []string) error { return unix.Symlink(a[0], a[1]) },
	"mkfifo":  func(a []string) error { return unix.Mkfifo(a[0], 0o600) },
	"mknod":   func(a []string) error { return unix.Mknod(a[0], unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))) },
	"list": func(a []string) error {
		return openAnd(a[0], unix.O_RDONLY|unix.O_DIRECTORY, func(fd int) error {
			_, err := unix.Getdents(fd, make([]byte, 4096))
			return err
		})
	},
	"readlink": func(a []string) error {
		_, err := unix.Readlink(a[0], make([]byte, 256))
		return err
	},
	"readnow": func(a []string) error {
		return openAnd(a[0], unix.O_RDONLY|unix.O_NONBLOCK, func(fd int) error {
			_, err := unix.Read(fd, make([]byte, 16))
			return err
		})
	},
	"stat":  func(a []string) error { return unix.Stat(a[0], new(unix.Stat_t)) },
	"chmod": func(a []string) error { return unix.Chmod(a[0], 0o600) },
	"execute": func(a []string) error {
		cmd := exec.Command(a[0], a[1:]...)
		err := cmd.Run()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return fmt.Errorf("status %d", exit.ExitCode())
		}
		return err
	},
	"ptrace":  func(a []string) error { return unix.PtraceSeize(number(a[0])) },
	"kill":    func(a []string) error { return unix.Kill(number(a[0]), 0) },
	"prlimit": func(a []string) error { return prlimit(number(a[0])) },
	"killown": func([]string) error {
		cmd := exec.Command(os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), stageVariable+"="+stageOps)
		stdin, err := cmd.StdinPipe()
		if err != nil {
			return err
		}
		defer stdin.Close()
		if err := cmd.Start(); err != nil {
			return err
		}
		err = cmd.Process.Kill()
		cmd.Wait()
		return err
	},
	"pidfdkill": func(a []string) error {
		fd, err := unix.PidfdOpen(number(a[0]), 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.PidfdSendSignal(fd, 0, nil, 0)
	},
	"vmread": func(a []string) error {
		var buf [1]byte
		local := []unix.Iovec{{Base: &buf[0], Len: 1}}
		_, err := unix.ProcessVMReadv(number(a[0]), local, []unix.RemoteIovec{{Base: uintptr(unsafe.Pointer(&buf[0])), Len: 1}}, 0)
		if err == unix.EFAULT {
			return nil // allowed, and nothing is mapped there
		}
		return err
	},
	"affinity": func(a []string) error {
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(number(a[0]), &set); err != nil {
			return err
		}
		return unix.SchedSetaffinity(number(a[0]), &set)
	},
	"nice":    func(a []string) error { return unix.Setpriority(unix.PRIO_PROCESS, number(a[0]), 1) },
	"unshare": func(a []string) error { return unix.Unshare(number(a[0])) },
	"mount":   func(a []string) error { return unix.Mount("tmpfs", a[0], "tmpfs", 0, "") },
	"umount":  func(a []string) error { return unix.Unmount(a[0], unix.MNT_DETACH) },
	"tiocsti": func(a []string) error {
		return openAnd(a[0], unix.O_RDWR|unix.O_NOCTTY, func(fd int) error {
			c := byte('x')
			_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCSTI, uintptr(unsafe.Pointer(&c)))
			if errno != 0 {
				return errno
			}
			return nil
		})
	},
	"isatty": func(a []string) error {
		return openAnd(a[0], unix.O_RDWR|unix.O_NOCTTY, func(fd int) error {
			_, err := unix.IoctlGetTermios(fd, unix.TCGETS)
			return err
		})
	},
	"drain": func([]string) error { _, err := io.Copy(io.Discard, os.Stdin); return err },
	"nofile": func(a []string) error {
		var l unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
			return err
		}
		if l.Max != uint64(number(a[0])) {
			return fmt.Errorf("hard limit %d", l.Max)
		}
		return nil
	},
}

// prlimit sets another process's limit of pending signals to what it is.
func prlimit(pid int) error {
	var l unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_SIGPENDING, nil, &l); err != nil {
		return err
	}
	return unix.Prlimit(pid, unix.RLIMIT_SIGPENDING, &l, nil)
}
