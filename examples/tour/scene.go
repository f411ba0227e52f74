//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// attempts is how many attempts the script makes, the daemon aside.
	attempts = 4
	// untouched is what the file outside the workspace says.
	untouched = "untouched\n"
)

// scene is a place for the script to do harm in: a workspace, and beside it a
// secret, a file and a service that are none of its business.
type scene struct {
	dir, workspace, script, secret, outside string

	listener net.Listener
	port     int
}

func newScene() (*scene, error) {
	dir, err := os.MkdirTemp("", "pinfold-tour-")
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	s := &scene{dir: dir, workspace: filepath.Join(dir, "workspace"), secret: filepath.Join(dir, "secret"), outside: filepath.Join(dir, "outside")}
	s.script = filepath.Join(s.workspace, "hostile.sh")
	err = errors.Join(
		os.Mkdir(s.workspace, 0o755),
		os.WriteFile(s.script, hostile, 0o755),
		os.WriteFile(s.secret, []byte("the secret\n"), 0o600),
		os.WriteFile(s.outside, []byte(untouched), 0o644))
	if err == nil {
		s.listener, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		s.remove()
		return nil, err
	}
	s.port = s.listener.Addr().(*net.TCPAddr).Port
	return s, nil
}

func (s *scene) remove() {
	if s.listener != nil {
		s.listener.Close()
	}
	os.RemoveAll(s.dir)
}

func (s *scene) environment() []string { return append(os.Environ(), "TOUR_TOKEN=not-for-you") }

func (s *scene) daemonName(run string) string { return fmt.Sprintf("tour-%d-%s", os.Getpid(), run) }

// unconfined is the control: what the script tries has to be possible here.
func (s *scene) unconfined() error {
	c := exec.Command(s.script, s.args("control")...)
	c.Dir, c.Env = s.workspace, s.environment()
	out, err := s.run(c)
	if err != nil {
		return err
	}
	// The daemon may still be on its way to its name.
	alive := s.daemons("control")
	for deadline := time.Now().Add(5 * time.Second); len(alive) == 0 && time.Now().Before(deadline); alive = s.daemons("control") {
		time.Sleep(10 * time.Millisecond)
	}
	for _, pid := range alive {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	if strings.Count(out, "succeeded:") != attempts || len(alive) != 1 {
		return fmt.Errorf("the control failed: %d daemons, and an attempt that does not work here even unconfined", len(alive))
	}
	fmt.Printf("\nthe daemon (pid %d) outlived the script; the tour killed it\n", alive[0])
	return os.WriteFile(s.outside, []byte(untouched), 0o644)
}

// run runs a command, shows its output, and returns it.
func (s *scene) run(c *exec.Cmd) (string, error) {
	var out bytes.Buffer
	show(c)
	c.Stdout = io.MultiWriter(os.Stdout, &out)
	err := c.Run()
	return out.String(), err
}

// daemons returns the pids of the processes that carry a daemon's name.
func (s *scene) daemons(run string) []int {
	var pids []int
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		args, _ := os.ReadFile(file)
		if name, _, _ := strings.Cut(string(args), "\x00"); name == s.daemonName(run) {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
