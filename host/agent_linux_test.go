package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func init() { roles["as-agent"] = agent }

// agent reads attempts from its standard input, makes each, and prints what came
// of them: "ok", "denied" for EPERM and EACCES, or another errno's name.
func agent([]string) {
	var attempts [][]string
	if err := json.NewDecoder(os.Stdin).Decode(&attempts); err != nil {
		panic(err)
	}
	results := make([]string, len(attempts))
	for i, a := range attempts {
		results[i] = outcome(tricks[a[0]](a[1:]))
	}
	json.NewEncoder(os.Stdout).Encode(results)
}

func outcome(err error) string {
	var errno syscall.Errno
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, os.ErrPermission):
		return "denied"
	case errors.As(err, &errno):
		return unix.ErrnoName(errno)
	}
	return err.Error()
}

// try lets an agent make the attempts in the session.
func try(t *testing.T, s *Session, attempts ...[]string) []string {
	t.Helper()
	text, err := json.Marshal(attempts)
	if err != nil {
		t.Fatal(err)
	}
	cmd := s.Command(self(), "as-agent")
	cmd.Stdin = strings.NewReader(string(text))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	var results []string
	if err == nil {
		err = json.Unmarshal(output, &results)
	}
	if err != nil {
		t.Fatalf("the agent failed: %v\n%s%s", err, output, &stderr)
	}
	return results
}

func withFile(path string, flags int, use func(*os.File) error) error {
	f, err := os.OpenFile(path, flags, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(use(f), f.Close())
}

func writeX(f *os.File) error { _, err := f.WriteString("x"); return err }

var tricks = map[string]func([]string) error{
	"read":   func(a []string) error { _, err := os.ReadFile(a[0]); return err },
	"list":   func(a []string) error { _, err := os.ReadDir(a[0]); return err },
	"write":  func(a []string) error { return withFile(a[0], os.O_WRONLY|os.O_TRUNC, writeX) },
	"append": func(a []string) error { return withFile(a[0], os.O_WRONLY|os.O_APPEND, writeX) },
	"create": func(a []string) error { return withFile(a[0], os.O_WRONLY|os.O_CREATE|os.O_EXCL, writeX) },
	"rename": func(a []string) error { return os.Rename(a[0], a[1]) },
	"chmod":  func(a []string) error { return os.Chmod(a[0], 0o600) },
	"mount":  func(a []string) error { return unix.Mount("none", a[0], "tmpfs", 0, "") },
	"unshare": func([]string) error {
		return unix.Unshare(unix.CLONE_NEWNS)
	},
	"rm -rf": func(a []string) error {
		_, err := exec.Command("rm", "-rf", a[0]).CombinedOutput()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return unix.EACCES // rm has said so, in words
		}
		return err
	},
	"tmp": func([]string) error {
		return withFile(os.Getenv("TMPDIR")+"/x", os.O_WRONLY|os.O_CREATE, writeX)
	},
	"tcp": func(a []string) error {
		c, err := net.DialTimeout("tcp", a[0], watchdog)
		if err != nil {
			return err
		}
		return c.Close()
	},
	"listen": func(a []string) error {
		l, err := net.Listen("tcp", a[0])
		if err != nil {
			return err
		}
		return l.Close()
	},
	"udp": func(a []string) error {
		c, err := net.Dial("udp", a[0])
		if err != nil {
			return err
		}
		_, err = c.Write([]byte(a[1]))
		return errors.Join(err, c.Close())
	},
	"unix": func(a []string) error {
		c, err := net.Dial("unix", a[0])
		if err != nil {
			return err
		}
		return c.Close()
	},
	"socketpair": func([]string) error {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err == nil {
			unix.Close(fds[0])
			unix.Close(fds[1])
		}
		return err
	},
	"signal": func(a []string) error { return syscall.Kill(pidOf(a[0]), 0) },
	"environ": func(a []string) error {
		_, err := os.ReadFile("/proc/" + a[0] + "/environ")
		return err
	},
	"ptrace": func(a []string) error {
		return unix.PtraceSeize(pidOf(a[0]))
	},
	"memory": func(a []string) error {
		var buf [1]byte
		local := []unix.Iovec{{Base: &buf[0], Len: 1}}
		address, _ := strconv.ParseUint(a[1], 0, 64)
		_, err := unix.ProcessVMReadv(pidOf(a[0]), local, []unix.RemoteIovec{{Base: uintptr(address), Len: 1}}, 0)
		return err
	},
	"own child": func([]string) error {
		c := exec.Command("sleep", "1000")
		if err := c.Start(); err != nil {
			return err
		}
		err := c.Process.Signal(syscall.SIGTERM)
		c.Wait()
		return err
	},
	"TIOCSTI": func([]string) error {
		x := byte('x')
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, 1, unix.TIOCSTI, uintptr(unsafe.Pointer(&x)))
		if errno != 0 {
			return errno
		}
		return nil
	},
	"variables": func(a []string) error {
		var seen []string
		for _, name := range a {
			if value, ok := os.LookupEnv(name); ok {
				seen = append(seen, name+"="+value)
			}
		}
		return said(strings.Join(seen, " "))
	},
	"descriptors": func([]string) error {
		var open []string
		for fd := 0; fd < 1024; fd++ {
			// Close-on-exec ones were opened by this program itself.
			if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
				open = append(open, strconv.Itoa(fd))
			}
		}
		return said(strings.Join(open, " "))
	},
	"status": func(a []string) error {
		text, err := os.ReadFile("/proc/self/status")
		for line := range strings.Lines(string(text)) {
			if value, ok := strings.CutPrefix(line, a[0]+":"); ok {
				return said(strings.TrimSpace(value))
			}
		}
		return err
	},
}

// said is a result that is no failure.
func said(text string) error { return fmt.Errorf("%q", text) }

func pidOf(s string) int {
	pid, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return pid
}

// accepting accepts connections until the test ends.
func accepting(t *testing.T, network, address string) net.Listener {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	return l
}

// received reports whether a message has arrived; it was sent over the loopback,
// which queues it before the send returns.
func received(t *testing.T, c net.PacketConn, message string) bool {
	t.Helper()
	buf := make([]byte, 64)
	c.SetReadDeadline(time.Now().Add(time.Millisecond))
	for {
		n, _, err := c.ReadFrom(buf)
		if err != nil {
			return false
		}
		if string(buf[:n]) == message {
			return true
		}
	}
}
