package lifeline

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestMain is also the other process of a lifeline: it sends one file, tells who
// made the pair, and waits for the end of standard input or of the lifeline.
func TestMain(m *testing.M) {
	if os.Getenv(EnvKey) == "" {
		os.Exit(m.Run())
	}
	conn, host, err := Inherited()
	if err != nil {
		panic(err)
	}
	if host != os.Getppid() {
		panic("the lifeline is another process's")
	}
	f, err := os.Open(os.DevNull)
	if err != nil {
		panic(err)
	}
	if _, err := conn.Send(f); err != nil {
		panic(err)
	}
	<-conn.Done()
	os.Exit(42)
}

func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// pair returns both ends in this process.
func pair(t *testing.T) (host, backend *Conn) {
	t.Helper()
	host, raw := rawPair(t)
	backend, err := New(raw)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { backend.Close() })
	return host, backend
}

func rawPair(t *testing.T) (*Conn, *os.File) {
	t.Helper()
	host, raw, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		host.Close()
		raw.Close()
	})
	return host, raw
}

func temporary(t *testing.T) *os.File {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func wantSame(t *testing.T, got, want *os.File) {
	t.Helper()
	a, err := got.Stat()
	if err != nil {
		t.Fatal(err)
	}
	b, err := want.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if !os.SameFile(a, b) {
		t.Errorf("%s arrived, want %s", a.Name(), b.Name())
	}
}

func wantDone(t *testing.T, c *Conn) {
	t.Helper()
	select {
	case <-c.Done():
	case <-bounded(t).Done():
		t.Fatal("the lifeline did not end")
	}
}

// openFiles counts the descriptors of this process.
func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestFilesArrive(t *testing.T) {
	host, backend := pair(t)
	seen := map[uint64]bool{}
	var files []*os.File
	var ids []uint64
	for range 10 {
		f := temporary(t)
		id, err := backend.Send(f)
		if err != nil || id == 0 || seen[id] {
			t.Fatalf("id %d, %v", id, err)
		}
		seen[id] = true
		files, ids = append(files, f), append(ids, id)
	}
	for i := len(ids) - 1; i >= 0; i-- { // in another order than sent
		got, err := host.Take(bounded(t), ids[i])
		if err != nil {
			t.Fatal(err)
		}
		defer got.Close()
		wantSame(t, got, files[i])
		flags, err := unix.FcntlInt(got.Fd(), unix.F_GETFD, 0)
		if err != nil || flags&unix.FD_CLOEXEC == 0 {
			t.Errorf("an arrived file is inherited by programs: %v", err)
		}
	}
	if _, err := backend.Send(nil); err == nil {
		t.Error("no file was sent")
	}
	closed := temporary(t)
	closed.Close()
	if _, err := backend.Send(closed); err == nil {
		t.Error("a closed file was sent")
	}
}

func TestTakeWaits(t *testing.T) {
	host, backend := pair(t)
	f := temporary(t)
	taken := make(chan error, 1)
	go func() {
		got, err := host.Take(bounded(t), 1)
		got.Close()
		taken <- err
	}()
	if _, err := backend.Send(f); err != nil {
		t.Fatal(err)
	}
	if err := <-taken; err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := host.Take(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("the second Take of one file: %v", err)
	}
}

func TestCloseIsTheOthersEnd(t *testing.T) {
	before := openFiles(t)
	host, backend := pair(t)
	f := temporary(t)
	for range 3 {
		if _, err := backend.Send(f); err != nil {
			t.Fatal(err)
		}
	}
	got, err := host.Take(bounded(t), 3)
	if err != nil {
		t.Fatal(err)
	}
	got.Close()
	waiting := make(chan error, 1)
	go func() {
		_, err := host.Take(bounded(t), 99)
		waiting <- err
	}()
	backend.Close()
	wantDone(t, host)
	if err := <-waiting; !errors.Is(err, ErrClosed) {
		t.Errorf("the waiting Take: %v", err)
	}
	// An answer and the end of its sender may overtake each other.
	if got, err := host.Take(bounded(t), 1); err != nil {
		t.Errorf("a later Take of what was sent before: %v", err)
	} else {
		got.Close()
	}
	if _, err := host.Take(bounded(t), 99); !errors.Is(err, ErrClosed) {
		t.Errorf("a later Take of what was never sent: %v", err)
	}
	if _, err := host.Send(f); err == nil {
		t.Error("a file was sent to nobody")
	}
	f.Close()
	host.Close()
	if _, err := host.Take(bounded(t), 2); !errors.Is(err, ErrClosed) {
		t.Errorf("a Take after Close: %v", err)
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d descriptors became %d", before, after)
	}
}

// child starts the other process.
func child(t *testing.T) (*Conn, *exec.Cmd) {
	t.Helper()
	host, raw := rawPair(t)
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), EnvKey+"=3", "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	cmd.ExtraFiles = []*os.File{raw}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	raw.Close()
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return host, cmd
}

func TestDeathOfTheOtherProcess(t *testing.T) {
	host, cmd := child(t)
	got, err := host.Take(bounded(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	wantSame(t, got, null)
	cmd.Process.Kill()
	wantDone(t, host)
	if _, err := host.Take(bounded(t), 2); !errors.Is(err, ErrClosed) {
		t.Errorf("Take after the death: %v", err)
	}
}

func TestOtherProcessSeesTheEnd(t *testing.T) {
	host, cmd := child(t)
	if got, err := host.Take(bounded(t), 1); err != nil {
		t.Fatal(err)
	} else {
		got.Close()
	}
	host.Close()
	cmd.Wait()
	if status := cmd.ProcessState.ExitCode(); status != 42 {
		t.Errorf("the other process ended with status %d", status)
	}
}

// A peer that breaks the protocol is cut off, and its files are closed.
func TestBrokenPeers(t *testing.T) {
	id := func(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }
	f := temporary(t)
	fd := int(f.Fd())
	type message struct {
		data []byte
		fds  []int
	}
	many := make([]message, maxUntaken+1)
	for i := range many {
		many[i] = message{id(uint64(i + 1)), []int{fd}}
	}
	for name, c := range map[string]struct {
		messages []message
		want     string
	}{
		"two files":        {[]message{{id(1), []int{fd, fd}}}, "a message of 8 bytes with 2 files"},
		"five files":       {[]message{{id(1), []int{fd, fd, fd, fd, fd}}}, "a message of 8 bytes with 2 files"},
		"no file":          {[]message{{id(1), nil}}, "a message of 8 bytes with 0 files"},
		"a short message":  {[]message{{id(1)[:3], []int{fd}}}, "a message of 3 bytes with 1 files"},
		"a long message":   {[]message{{append(id(1), 0), []int{fd}}}, "a message of 1 bytes with 0 files"},
		"no id":            {[]message{{id(0), []int{fd}}}, "a file without an id"},
		"one id twice":     {[]message{{id(7), []int{fd}}, {id(7), []int{fd}}}, "file 7 arrived twice"},
		"never taken":      {many, "1024 files arrived that nobody asked for"},
		"halves, two each": {[]message{{id(1)[:4], []int{fd}}, {id(1)[4:], []int{fd}}}, "a message of 4 bytes with 1 files"},
	} {
		t.Run(name, func(t *testing.T) {
			before := openFiles(t)
			host, raw, err := Pair()
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range c.messages {
				// The last ones may meet a closed socket.
				unix.Sendmsg(int(raw.Fd()), m.data, unix.UnixRights(m.fds...), nil, unix.MSG_NOSIGNAL)
			}
			wantDone(t, host)
			if _, err := host.Take(bounded(t), 1000_000); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got error %v, want %q", err, c.want)
			}
			host.Close()
			raw.Close()
			if after := openFiles(t); after != before {
				t.Errorf("%d descriptors became %d", before, after)
			}
		})
	}
}

// The files of calls that were given up do not add up.
func TestOldFilesAreClosed(t *testing.T) {
	host, _ := pair(t)
	begin := time.Now()
	old, fresh := temporary(t), temporary(t)
	for id, step := range []struct {
		file  *os.File
		after time.Duration
	}{{old, 0}, {fresh, untakenTime - 1}, {temporary(t), untakenTime}} {
		if err := host.keep(uint64(id+1), step.file, begin.Add(step.after)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := old.Stat(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("an old file is still open: %v", err)
	}
	if got, err := host.Take(bounded(t), 2); err != nil || got != fresh {
		t.Errorf("a fresh file is gone: %v", err)
	}
}

func TestManyAtOnce(t *testing.T) {
	host, backend := pair(t)
	var all sync.WaitGroup
	for range 16 {
		f := temporary(t)
		all.Go(func() {
			for range 50 {
				id, err := backend.Send(f)
				if err != nil {
					t.Error(err)
					return
				}
				got, err := host.Take(bounded(t), id)
				if err != nil {
					t.Error(err)
					return
				}
				wantSame(t, got, f)
				got.Close()
			}
		})
	}
	all.Wait()
}

func TestWhatIsNoLifeline(t *testing.T) {
	f := temporary(t)
	if c, err := New(f); err == nil {
		c.Close()
		t.Error("a file became a lifeline")
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fds[1])
	a := os.NewFile(uintptr(fds[0]), "")
	c, err := New(a)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	if _, err := a.Write(nil); !errors.Is(err, os.ErrClosed) {
		t.Errorf("New left the socket with its caller: %v", err)
	}
	for _, value := range []string{"", "x", "-1", "2", "99999"} {
		t.Setenv(EnvKey, value)
		if _, _, err := Inherited(); err == nil || !strings.Contains(err.Error(), "lifeline: ") {
			t.Errorf("%s=%q: %v", EnvKey, value, err)
		}
	}
}

func TestPeerPIDOfAPair(t *testing.T) {
	_, raw := rawPair(t)
	pid, err := PeerPID(int(raw.Fd()))
	if err != nil || pid != os.Getpid() {
		t.Errorf("%d, %v", pid, err)
	}
	if _, err := PeerPID(int(temporary(t).Fd())); !errors.Is(err, unix.ENOTSOCK) {
		t.Errorf("a file has a peer: %v", err)
	}
}
