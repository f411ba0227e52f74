package host

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/host/birth"
)

// A life is what a session keeps of a command: what it takes to reap it and to
// report it, and nothing of its streams.
type life struct {
	args    []string
	dir     string
	process *os.Process
	proof   *proof
	started time.Time

	once    sync.Once
	ended   chan struct{} // closed when what follows is set
	state   *os.ProcessState
	err     error
	elapsed time.Duration
}

// wait waits for the process and reaps it, once for all who ask.
func (l *life) wait() (*os.ProcessState, error) {
	l.once.Do(func() {
		l.state, l.err = l.process.Wait()
		l.elapsed = time.Since(l.started)
		close(l.ended)
	})
	return l.state, l.err
}

// report says what is known now.
func (l *life) report() CommandReport {
	r := CommandReport{Args: l.args, Dir: l.dir, Started: l.started}
	select {
	case <-l.ended:
	default:
		return r
	}
	if l.state == nil {
		return r
	}
	r.Exited, r.Elapsed, r.ExitCode = true, l.elapsed, l.state.ExitCode()
	if status, ok := l.state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		r.Signal = status.Signal().String()
	}
	return r
}

// A proof is the tracker's answer to whether a process is a member of the
// session.
//
// It is asked about the session's first process. Later ones are born with the
// very same attributes, and the kernel refuses a birth that it cannot give in
// full. A process cloned into a cgroup is a member of that cgroup or does not
// exist (clone3(2)), so what is left to find out is whether the tracker handed
// out the right one. That is asked while the command already runs, and Wait has
// the answer. Any other membership is proved before Start returns.
//
// If the tracker denies, no command can be started any more. If it does not
// answer, the commands that relied on it are killed, and the next one is asked
// about in their place.
type proof struct {
	done chan struct{} // closed when err is final
	err  error
}

func (p *proof) failed() bool {
	select {
	case <-p.done:
		return p.err != nil
	default:
		return false
	}
}

// launch gives birth to the command and proves that it is a member.
func (s *Session) launch(c *Cmd) error {
	if err := s.beginBirth(); err != nil {
		return err
	}
	defer s.endBirth()
	bearing, err := c.birth()
	if err != nil {
		return err
	}
	l := &life{args: slices.Clone(c.Args), dir: bearing.Dir, started: time.Now(), ended: make(chan struct{})}
	if l.process, err = birth.Start(bearing, s.birth); err != nil {
		return explainBirth(err)
	}
	s.prove(l)
	if s.birth.Cgroup == nil {
		<-l.proof.done
	}
	if l.proof.failed() {
		l.process.Kill()
		l.wait()
		return l.proof.err
	}
	c.Process, c.life = l.process, l
	return nil
}

func (s *Session) beginBirth() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return &core.Error{Reason: core.ErrClosed, Stage: core.StageBirth, Detail: "the session is closed"}
	}
	if s.proof != nil && s.proof.failed() && errors.Is(s.proof.err, core.ErrNotMember) {
		return s.proof.err
	}
	s.births++
	return nil
}

func (s *Session) endBirth() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.births--
	if s.closing && s.births == 0 {
		close(s.quiet)
	}
}

// prove makes l one of the session's commands and gives it the proof that it
// relies on, which may still be under way.
func (s *Session) prove(l *life) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commands = append(s.commands, l)
	if s.proof == nil || s.proof.failed() {
		s.proof = &proof{done: make(chan struct{})}
		go s.ask(s.proof, l.process.Pid)
	}
	l.proof = s.proof
}

// ask asks the tracker. The process is not reaped before.
func (s *Session) ask(p *proof, pid int) {
	err := s.host.tracker.Verify(context.Background(), s.opened.Handle, pid)
	s.mu.Lock()
	defer s.mu.Unlock()
	p.err = err
	close(p.done)
	if err == nil {
		return
	}
	for _, l := range s.commands {
		if l.proof == p {
			l.process.Kill()
		}
	}
}

// explainBirth says of a failed birth whether the command or Pinfold is the
// matter.
func explainBirth(err error) error {
	var b *birth.Error
	if errors.As(err, &b) && (b.Step == birth.StepExec || b.Step == birth.StepDirectory) {
		return launchError(core.StageExec, err)
	}
	return launchError(core.StageBirth, err)
}

func launchError(stage core.Stage, err error) error {
	return &core.Error{Reason: core.ErrLaunchFailed, Stage: stage, Detail: "the command did not start", Err: err}
}
