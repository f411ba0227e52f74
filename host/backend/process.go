package backend

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin/runner"

	"github.com/pinfold/pinfold/core/lifeline"
)

// process is a backend's process, as go-plugin's runner. It differs from
// go-plugin's own in that the process has an empty standard input, an explicit
// environment, a session of its own and a lifeline; that it is reaped when it
// ends, and not when its outputs do; and that its last words are kept.
type process struct {
	cmd    *exec.Cmd
	line   *os.File // the backend's end of the lifeline, ours until Start
	stdout *pipe
	stderr *pipe
	record *record
	stray  io.Writer // takes what is printed elsewhere than on standard error

	started chan struct{} // closed when Start has returned
	exited  chan struct{} // closed when the process was reaped
	err     error         // how it ended; set before exited is closed
	killed  atomic.Bool   // it was running still when this side killed it
}

var _ runner.Runner = (*process)(nil)

// lifelineFD is where the one extra file of an exec.Cmd appears.
const lifelineFD = 3

// newProcess takes over line.
func newProcess(program Program, line *os.File, logger hclog.Logger) (*process, error) {
	cmd := exec.Command(program.Path, program.Args...)
	cmd.Dir = "/"
	cmd.ExtraFiles = []*os.File{line}
	cmd.SysProcAttr = ownSession()
	p := &process{
		cmd: cmd, line: line, record: &record{},
		started: make(chan struct{}), exited: make(chan struct{}),
	}
	p.stray = io.MultiWriter(p.record, logger.StandardWriter(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}))
	var err error
	if p.stdout, err = newPipe(); err == nil {
		if p.stderr, err = newPipe(); err == nil {
			cmd.Stdout, cmd.Stderr = p.stdout.write, p.stderr.write
			return p, nil
		}
		p.stdout.Close()
	}
	line.Close()
	return nil, err
}

// abandon releases what a process holds that was never started.
func (p *process) abandon() {
	p.line.Close()
	p.stdout.Close()
	p.stderr.Close()
}

// Start implements [runner.Runner].
func (p *process) Start(context.Context) error {
	defer close(p.started)
	p.cmd.Env = append(p.cmd.Env, lifeline.EnvKey+"="+strconv.Itoa(lifelineFD))
	err := p.cmd.Start()
	if err != nil {
		p.abandon()
		return err
	}
	p.line.Close()
	p.stdout.write.Close()
	p.stderr.write.Close()
	go p.reap()
	return nil
}

func (p *process) reap() {
	p.err = p.cmd.Wait()
	deadline := time.Now().Add(outputGrace)
	p.stdout.read.SetReadDeadline(deadline)
	p.stderr.read.SetReadDeadline(deadline)
	close(p.exited)
}

// Wait implements [runner.Runner]. go-plugin calls it once, after it has read
// both outputs to their end.
func (p *process) Wait(context.Context) error {
	<-p.exited
	p.stdout.Close()
	p.stderr.Close()
	return p.err
}

// Kill implements [runner.Runner].
func (p *process) Kill(context.Context) error {
	select {
	case <-p.exited:
	default:
		p.killed.Store(true)
	}
	return p.signal(syscall.SIGKILL)
}

func (p *process) signal(sig syscall.Signal) error {
	<-p.started
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
	p.Kill(context.Background())
}

// epitaph says how the process ended and what it said last, as far as both can
// be found out within patience: "exit status 2, after it said …".
func (p *process) epitaph(patience time.Duration) string {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	text := "it did not end"
	select {
	case <-p.exited:
		text = p.cmd.ProcessState.String()
		if p.killed.Load() && text == "signal: killed" {
			text = "it was then killed"
		}
	case <-ctx.Done():
	}
	select {
	case <-p.stderr.ended:
	case <-ctx.Done():
	}
	if words := p.record.String(); words != "" {
		text += ", after it said " + words
	}
	return text
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
func (p *process) Stdout() io.ReadCloser { return handshake(p.stdout, p.stray) }

// Stderr implements [runner.Runner].
func (p *process) Stderr() io.ReadCloser { return teed{p.stderr, p.record} }

// Name implements [runner.Runner].
func (p *process) Name() string { return p.cmd.Path }

// ID implements [runner.Runner].
func (p *process) ID() string {
	if p.cmd.Process == nil {
		return ""
	}
	return strconv.Itoa(p.cmd.Process.Pid)
}

// Diagnose implements [runner.Runner]; the error has the epitaph instead.
func (p *process) Diagnose(context.Context) string { return "" }

// PluginToHost implements [runner.Runner]: both sides see the same filesystem.
func (p *process) PluginToHost(network, address string) (string, string, error) {
	return network, address, nil
}

// HostToPlugin implements [runner.Runner].
func (p *process) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}
