package host

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// streams are the standard streams of a command: which files it gets, and what
// is copied between them and the host's readers and writers.
type streams struct {
	theirs  []*os.File // given to the command, closed here once it runs
	ours    []*os.File // kept here: pipes' other ends
	inputs  []func() error
	outputs []func() error // started with the command, as inputs are
	// What became of the copies. Both have room for all.
	inputErrs, outputErrs chan error
}

// open returns the files for descriptors 0, 1 and 2.
func (s *streams) open(c *Cmd) ([]*os.File, error) {
	stdin, err := s.input(c.Stdin)
	if err != nil {
		return nil, err
	}
	stdout, err := s.output(c.Stdout)
	if err != nil {
		return nil, err
	}
	stderr := stdout
	if c.Stderr == nil || !sameWriter(c.Stdout, c.Stderr) {
		if stderr, err = s.output(c.Stderr); err != nil {
			return nil, err
		}
	}
	return []*os.File{stdin, stdout, stderr}, nil
}

func (s *streams) input(r io.Reader) (*os.File, error) {
	if r == nil {
		return s.null(os.O_RDONLY)
	}
	if f, ok := r.(*os.File); ok {
		return f, nil
	}
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.theirs, s.ours = append(s.theirs, theirs), append(s.ours, ours)
	s.inputs = append(s.inputs, func() error {
		_, err := io.Copy(ours, r)
		// A command need not read all of its input.
		if errors.Is(err, syscall.EPIPE) || errors.Is(err, fs.ErrClosed) {
			err = nil
		}
		return errors.Join(err, closed(ours))
	})
	return theirs, nil
}

func (s *streams) output(w io.Writer) (*os.File, error) {
	if w == nil {
		return s.null(os.O_WRONLY)
	}
	if f, ok := w.(*os.File); ok {
		return f, nil
	}
	ours, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.theirs, s.ours = append(s.theirs, theirs), append(s.ours, ours)
	s.outputs = append(s.outputs, func() error {
		_, err := io.Copy(w, ours)
		return errors.Join(err, closed(ours))
	})
	return theirs, nil
}

func (s *streams) null(flag int) (*os.File, error) {
	f, err := os.OpenFile(os.DevNull, flag, 0)
	if err == nil {
		s.theirs = append(s.theirs, f)
	}
	return f, err
}

// started hands the command's files over to it and begins to copy.
func (s *streams) started() {
	for _, f := range s.theirs {
		f.Close()
	}
	s.theirs = nil
	s.inputErrs, s.outputErrs = begin(s.inputs), begin(s.outputs)
}

func begin(copies []func() error) chan error {
	errs := make(chan error, len(copies))
	for _, c := range copies {
		go func() { errs <- c() }()
	}
	return errs
}

// wait waits for the copies, for delay at most unless it is 0. When it returns,
// nothing is written to the host's writers any more; a host's reader that blocks
// may still have a goroutine waiting for it.
func (s *streams) wait(delay time.Duration) error {
	var late <-chan time.Time
	if delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		late = timer.C
	}
	var errs []error
	for in, out := len(s.inputs), len(s.outputs); in+out > 0; {
		select {
		case err := <-s.inputErrs:
			errs = append(errs, err)
			in--
		case err := <-s.outputErrs:
			errs = append(errs, err)
			out--
		case <-late:
			s.close() // which ends the copies of outputs
			for range out {
				<-s.outputErrs
			}
			return errors.Join(append(errs, exec.ErrWaitDelay)...)
		}
	}
	s.close()
	return errors.Join(errs...)
}

// close closes what is still open on this side.
func (s *streams) close() {
	for _, f := range append(s.theirs, s.ours...) {
		f.Close()
	}
	s.theirs = nil
}

func closed(f *os.File) error {
	if err := f.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		return err
	}
	return nil
}

// sameWriter reports whether both streams are one writer, which then must not
// see two goroutines. Writers that cannot be compared are different ones.
func sameWriter(a, b io.Writer) bool {
	defer func() { recover() }()
	return a == b
}

// StdinPipe returns a pipe to the command's standard input. Close it to end the
// input; Wait closes it too.
func (c *Cmd) StdinPipe() (io.WriteCloser, error) {
	if c.Stdin != nil || c.Process != nil {
		return nil, errors.New("host: Stdin is set, or the command is started")
	}
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c.Stdin = theirs
	c.streams.theirs, c.streams.ours = append(c.streams.theirs, theirs), append(c.streams.ours, ours)
	return ours, nil
}

// StdoutPipe returns a pipe from the command's standard output. Read it to the
// end before Wait, which closes it.
func (c *Cmd) StdoutPipe() (io.ReadCloser, error) { return c.outputPipe(&c.Stdout) }

// StderrPipe is like StdoutPipe for the standard error.
func (c *Cmd) StderrPipe() (io.ReadCloser, error) { return c.outputPipe(&c.Stderr) }

func (c *Cmd) outputPipe(stream *io.Writer) (io.ReadCloser, error) {
	if *stream != nil || c.Process != nil {
		return nil, errors.New("host: the stream is set, or the command is started")
	}
	ours, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	*stream = theirs
	c.streams.theirs, c.streams.ours = append(c.streams.theirs, theirs), append(c.streams.ours, ours)
	return ours, nil
}

// Output runs the command and returns its standard output.
func (c *Cmd) Output() ([]byte, error) {
	if c.Stdout != nil {
		return nil, errors.New("host: Stdout is set")
	}
	var stdout bytes.Buffer
	c.Stdout = &stdout
	err := c.Run()
	return stdout.Bytes(), err
}

// CombinedOutput runs the command and returns its standard output and error.
func (c *Cmd) CombinedOutput() ([]byte, error) {
	if c.Stdout != nil || c.Stderr != nil {
		return nil, errors.New("host: Stdout or Stderr is set")
	}
	var both bytes.Buffer
	c.Stdout, c.Stderr = &both, &both
	err := c.Run()
	return both.Bytes(), err
}
