package backend

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// lastWords is how many lines of a backend's output are kept for the error
	// that tells of its end, each cut to lastWordLength bytes: 4 KiB in all.
	lastWords      = 4
	lastWordLength = 1024
	// outputGrace is how long output is still read after a backend's end.
	// What it wrote is in the pipe by then; only a descendant that holds the
	// pipe keeps it from ending.
	outputGrace = time.Second
)

// record keeps the last lines that a backend wrote. It may be written to by
// several goroutines.
type record struct {
	mu      sync.Mutex
	partial []byte
	lines   []string
	crashed bool // a Go program's crash report has begun
	full    bool // the crash report's stack has begun
}

// Write implements [io.Writer]; it never fails.
func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, part := range bytes.SplitAfter(p, []byte("\n")) {
		room := max(0, lastWordLength-len(r.partial))
		r.partial = append(r.partial, bytes.TrimRight(part, "\n")[:min(room, len(bytes.TrimRight(part, "\n")))]...)
		if bytes.HasSuffix(part, []byte("\n")) {
			r.add(string(r.partial))
			r.partial = r.partial[:0]
		}
	}
	return len(p), nil
}

// add keeps a line. Of a crash report only what comes before the stacks tells a
// person something, and the stacks are what comes last.
func (r *record) add(line string) {
	line = strings.TrimSpace(line)
	r.full = r.full || r.crashed && strings.HasPrefix(line, "goroutine ")
	if line == "" || r.full {
		return
	}
	if !r.crashed && (strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")) {
		r.crashed, r.lines = true, nil
	}
	if len(r.lines) == lastWords {
		r.lines = slices.Delete(r.lines, 0, 1)
	}
	r.lines = append(r.lines, line)
}

// String returns the lines for an error message, quoted, or "".
func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := slices.Clone(r.lines)
	if last := strings.TrimSpace(string(r.partial)); last != "" && !r.full {
		lines = append(lines, last)
	}
	for i, line := range lines {
		lines[i] = strconv.QuoteToASCII(message(line))
	}
	return strings.Join(lines, ", ")
}

// message returns what a line of hclog's JSON says, and any other line as it is.
func message(line string) string {
	var entry map[string]any
	if json.Unmarshal([]byte(line), &entry) != nil {
		return line
	}
	text, ok := entry["@message"].(string)
	if !ok {
		return line
	}
	var pairs []string
	for key, value := range entry {
		if !strings.HasPrefix(key, "@") {
			pairs = append(pairs, fmt.Sprintf(" %s=%v", key, value))
		}
	}
	slices.Sort(pairs)
	return text + strings.Join(pairs, "")
}

// pipe is one output of a backend. Its reading end ends with the process even
// while a descendant of the process holds the other end.
type pipe struct {
	read, write *os.File
	ended       chan struct{} // closed when everything was read
	once        sync.Once
}

func newPipe() (*pipe, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &pipe{read: read, write: write, ended: make(chan struct{})}, nil
}

// Read implements [io.Reader]. Whatever ends the pipe is an end of file.
func (p *pipe) Read(b []byte) (int, error) {
	n, err := p.read.Read(b)
	if err != nil {
		p.once.Do(func() { close(p.ended) })
		err = io.EOF
	}
	return n, err
}

// Close implements [io.Closer].
func (p *pipe) Close() error {
	p.write.Close()
	return p.read.Close()
}

// teed is a pipe that is recorded as it is read.
type teed struct {
	*pipe
	record *record
}

// Read implements [io.Reader].
func (t teed) Read(b []byte) (int, error) {
	n, err := t.pipe.Read(b)
	t.record.Write(b[:n])
	return n, err
}

// handshake hands on the line of go-plugin's handshake alone. Whatever else a
// backend prints on its standard output, before or after, goes to stray: a
// package initialised before the SDK may print, and go-plugin gives up at the
// first line that is not the handshake.
func handshake(from io.Reader, stray io.Writer) io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		lines := bufio.NewReader(from)
		for found := false; ; {
			line, err := lines.ReadSlice('\n')
			if err == nil && !found && isHandshake(line) {
				found = true
				w.Write(line)
				w.Close()
				continue
			}
			stray.Write(line)
			if err != nil && err != bufio.ErrBufferFull {
				w.Close()
				return
			}
		}
	}()
	return r
}

// isHandshake reports whether line has the form "1|1|unix|ADDRESS|grpc|…", of
// which the first number is go-plugin's own version.
func isHandshake(line []byte) bool {
	return bytes.HasPrefix(line, []byte("1|")) && bytes.Count(line, []byte("|")) >= 4
}
