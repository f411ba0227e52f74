package landlock

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pinfold/pinfold/core"
)

// TestTools runs everyday programs under the preset workspace-write: what it leaves
// has to be enough to work in.
func TestTools(t *testing.T) {
	needLandlock(t, 2)
	for _, test := range []struct {
		program string
		script  string
		want    string
	}{
		{"/bin/bash", `echo one > a && cp a b && mv b sub/c && ln -s a l && cat l sub/c && (sleep 0 & wait) && echo $((1+1)) > /dev/null`, "one\none\n"},
		{"/bin/bash", `cat <<< here; cat <(echo substituted); echo to-err > /dev/stderr`, "here\nsubstituted\n"},
		{"/bin/bash", `cat "$SECRET" 2>&1; echo x 2>/dev/null > "$SECRET" || echo refused`, "Permission denied\nrefused\n"},
		{"/usr/bin/git", `git init -q . && git add a && git -c user.name=n -c user.email=e@x commit -qm m && git status --short > status && git log --format=%s && git gc -q`, "m\n"},
		{"/usr/bin/python3", `python3 -c 'import os,subprocess,tempfile,socket,threading
a,b=socket.socketpair(); a.send(b"x"); print(b.recv(1))
print(subprocess.run(["echo","sub"],capture_output=True).stdout)
tempfile.NamedTemporaryFile().write(b"x")
t=threading.Thread(target=lambda: print(len(os.listdir("/proc/self/fd"))>2)); t.start(); t.join()
try: socket.create_connection(("127.0.0.1",9))
except OSError as e: print(e.errno)'`, "b'x'\nb'sub\\n'\nTrue\n13\n"},
		{"/usr/bin/script", `script -qec 'tty | cut -c1-9; stty size > /dev/null && echo a-terminal' /dev/null`, "/dev/pts/\r\na-terminal\r\n"},
		{"/usr/local/go/bin/go", `printf 'module m\n\ngo 1.21\n' > go.mod && printf 'package main\n\nfunc main() { println("built") }\n' > main.go && go build -o m . && ./m 2>&1`, "built\n"},
	} {
		name := filepath.Base(test.program)
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(test.program); err != nil {
				t.Skipf("not on this machine: %v", err)
			}
			ws, out := fixture(t)
			temp, cache := t.TempDir(), goCache(t)
			p := workspacePolicy(t, ws)
			for _, dir := range []string{temp, cache} {
				p.Filesystem.Rules = append(p.Filesystem.Rules, core.PathRule{Path: dir, Access: core.AllAccess})
			}
			r := launch(t, command{plan: mustPlan(t, New(), p), dir: ws,
				argv: []string{"/bin/bash", "-c", test.script},
				env: []string{"PATH=/usr/local/go/bin:/usr/bin:/bin", "HOME=" + ws, "TMPDIR=" + temp, "GOCACHE=" + cache,
					"GOPATH=" + filepath.Join(temp, "go"), "GOFLAGS=-mod=mod", "GOTOOLCHAIN=local", "SECRET=" + filepath.Join(out, "a")},
			})
			if got := strings.ReplaceAll(r.stdout, "cat: "+filepath.Join(out, "a")+": ", ""); got != test.want {
				t.Errorf("status %d\nstdout: %s\nstderr: %s", r.status, r.stdout, r.stderr)
			}
			if text, err := os.ReadFile(filepath.Join(out, "a")); err != nil || string(text) != "secret of out" {
				t.Errorf("the file outside is %q, %v", text, err)
			}
		})
	}
}

// goCache is the user's own build cache, so that the standard library is not built
// for this test; it is granted as a policy for building programs would.
func goCache(t *testing.T) string {
	t.Helper()
	text, err := exec.Command("/usr/local/go/bin/go", "env", "GOCACHE").Output()
	if dir := strings.TrimSpace(string(text)); err == nil && filepath.IsAbs(dir) {
		return dir
	}
	return t.TempDir()
}
