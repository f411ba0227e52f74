package seccomp

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func init() {
	tasks["program"] = func(argv []string) results {
		out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
		return results{"result": result(err), "output": string(out)}
	}
	tasks["clone into a namespace"] = func([]string) results {
		cmd := exec.Command("/proc/self/exe", "-test.run=^$")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUTS}
		return results{"start": result(cmd.Run())}
	}
}

// pythonWork uses what a C library needs of the kernel: threads, fork, pipes,
// socket pairs (asyncio's), shared memory, and memory maps.
const pythonWork = `
import asyncio, mmap, multiprocessing, os, subprocess, threading
got = []
threads = [threading.Thread(target=lambda: got.append(1)) for _ in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
assert len(got) == 8
assert subprocess.check_output(["/bin/echo", "hi"]) == b"hi\n"
def put(q): q.put(7)
q = multiprocessing.Queue()
p = multiprocessing.Process(target=put, args=(q,)); p.start()
assert q.get() == 7; p.join()
async def sub():
    proc = await asyncio.create_subprocess_exec("/bin/true"); return await proc.wait()
assert asyncio.run(sub()) == 0
m = mmap.mmap(-1, 4096); m[0] = 1
pid = os.fork()
if pid == 0: os._exit(3)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3
print("done")
`

const pythonNoNetwork = `
import socket
try: socket.create_connection(("127.0.0.1", 9))
except PermissionError as e: print("done", e)
`

const bashWork = `
set -e
test "$(printf 'a\nb\n' | sort -r | head -1)" = b
( sleep 0 ) & wait $!
cat <(echo one) > two; read x < two; test "$x" = one
trap 'got=1' USR1; kill -USR1 $$; test "$got" = 1
setsid true
echo done
`

const goWork = `package main

import (
	"fmt"
	"os/exec"
	"sync"
)

func main() {
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			if err := exec.Command("/bin/true").Run(); err != nil {
				panic(err)
			}
		})
	}
	wg.Wait()
	fmt.Println("done")
}
`

// TestPrograms: ordinary programs run as they do without the filter.
func TestPrograms(t *testing.T) {
	requireSeccomp(t)
	source := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(source, []byte(goWork), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		argv []string
	}{
		{"bash", []string{"bash", "-c", bashWork}},
		{"python", []string{"python3", "-c", pythonWork}},
		{"go", []string{"go", "run", source}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := exec.LookPath(c.argv[0]); err != nil {
				t.Skip(err)
			}
			control, confined := bothWays(t, Options{}, "program", c.argv...)
			if control["result"] != "ok" {
				t.Skipf("fails without the filter: %v", control)
			}
			if confined["result"] != "ok" || !strings.HasPrefix(confined["output"], "done") {
				t.Errorf("%s\n%s", confined["result"], confined["output"])
			}
		})
	}
}

// TestNetworkOffMessages: programs say what happened in words people know.
func TestNetworkOffMessages(t *testing.T) {
	requireSeccomp(t)
	for _, c := range []struct {
		name string
		argv []string
	}{
		{"bash", []string{"bash", "-c", "echo x > /dev/tcp/127.0.0.1/9 || true"}},
		{"python", []string{"python3", "-c", pythonNoNetwork}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := exec.LookPath(c.argv[0]); err != nil {
				t.Skip(err)
			}
			confined := inChild(t, job{Task: "program", Args: c.argv})
			if !strings.Contains(confined["output"], "Permission denied") {
				t.Errorf("%s says %q", c.name, confined["output"])
			}
		})
	}
}

// TestCloneIntoNamespace: a real child in a namespace of its own.
func TestCloneIntoNamespace(t *testing.T) {
	control, confined := bothWays(t, Options{}, "clone into a namespace")
	if control["start"] != "ok" {
		t.Skipf("fails without the filter: %v", control)
	}
	if confined["start"] != "EPERM" {
		t.Errorf("%v, want EPERM", confined)
	}
}
