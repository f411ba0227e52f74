package backend

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-plugin/runner"

	"github.com/pinfold/pinfold/core/lifeline"
)

// process is a backend's process, as go-plugin's runner. It differs from
// go-plugin's own in that the process has an empty standard input, an explicit
// environment, a session of its own and a lifeline.
type process struct {
	cmd    *exec.Cmd
	line   *os.File // the backend's end of the lifeline, ours until Start
	stdout io.ReadCloser
	stderr io.ReadCloser

	started chan struct{} // closed when Start has returned
	exited  chan struct{} // closed when Wait has returned
	once    sync.Once
}

var _ runner.Runner = (*process)(nil)

// lifelineFD is where the one extra file of an exec.Cmd appears.
const lifelineFD = 3

func newProcess(program Program, env []string, line *os.File) (*process, error) {
	cmd := exec.Command(program.Path, program.Args...)
	cmd.Env = append(env, lifeline.EnvKey+"="+strconv.Itoa(lifelineFD))
	cmd.Dir = "/"
	cmd.ExtraFiles = []*os.File{line}
	cmd.SysProcAttr = ownSession()
	p := &process{cmd: cmd, line: line, started: make(chan struct{}), exited: make(chan struct{})}
	var err error
	if p.stdout, err = cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	if p.stderr, err = cmd.StderrPipe(); err != nil {
		return nil, err
	}
	return p, nil
}

// Start implements [runner.Runner].
func (p *process) Start(context.Context) error {
	defer close(p.started)
	defer p.line.Close()
	return p.cmd.Start()
}

// Wait implements [runner.Runner]. go-plugin calls it once, after both pipes
// have ended.
func (p *process) Wait(context.Context) error {
	defer p.once.Do(func() { close(p.exited) })
	return p.cmd.Wait()
}

// Kill implements [runner.Runner].
func (p *process) Kill(context.Context) error { return p.signal(syscall.SIGKILL) }

func (p *process) signal(sig syscall.Signal) error {
	if p.cmd.Process == nil {
		return nil
	}
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// end asks the process to finish its calls and exit, and kills it after patience.
func (p *process) end(patience time.Duration) {
	if p.signal(syscall.SIGTERM) == nil {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		select {
		case <-p.exited:
			return
		case <-timer.C:
		}
	}
	p.signal(syscall.SIGKILL)
}

// pid returns the process's id once it is started.
func (p *process) pid() (int, error) {
	<-p.started
	if p.cmd.Process == nil {
		return 0, errors.New("the backend did not start")
	}
	return p.cmd.Process.Pid, nil
}

// Stdout implements [runner.Runner].
func (p *process) Stdout() io.ReadCloser { return p.stdout }

// Stderr implements [runner.Runner].
func (p *process) Stderr() io.ReadCloser { return p.stderr }

// Name implements [runner.Runner].
func (p *process) Name() string { return p.cmd.Path }

// ID implements [runner.Runner].
func (p *process) ID() string {
	if p.cmd.Process == nil {
		return ""
	}
	return strconv.Itoa(p.cmd.Process.Pid)
}

// Diagnose implements [runner.Runner].
func (p *process) Diagnose(context.Context) string {
	return "see whether it runs: pinfold backend describe " + p.cmd.Path
}

// PluginToHost implements [runner.Runner]: both sides see the same filesystem.
func (p *process) PluginToHost(network, address string) (string, string, error) {
	return network, address, nil
}

// HostToPlugin implements [runner.Runner].
func (p *process) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}
