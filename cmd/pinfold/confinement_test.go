//go:build linux

package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// attempts are what a rogue command would do. Each must be refused under the
// default preset and, as the control, work under unrestricted.
func TestRogueCommand(t *testing.T) {
	p := newPlace(t)
	outside := filepath.Join(filepath.Dir(p.workspace), "outside")
	if err := os.MkdirAll(filepath.Join(outside, "project"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("hunter2"), 0o644); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			fmt.Fprintln(conn, "reached")
			conn.Close()
		}
	}()
	port := listener.Addr().(*net.TCPAddr).Port
	reach := fmt.Sprintf("read line <>/dev/tcp/127.0.0.1/%d && echo $line", port)
	for _, test := range []struct{ name, script, shows string }{
		{"read a secret", "cat " + outside + "/secret", "hunter2"},
		{"list a directory", "ls " + outside, "secret"},
		{"write a file", "echo x > " + outside + "/new && echo written", "written"},
		{"append to a file", "echo x >> " + outside + "/secret && echo written", "written"},
		{"make a directory", "mkdir " + outside + "/dir && echo made", "made"},
		{"link a secret in", "ln " + outside + "/secret linked-$RANDOM && echo linked", "linked"},
		{"rename out", "echo x > inside; mv inside " + outside + "/moved && echo moved", "moved"},
		{"remove a tree", "rm -rf " + outside + "/project; test -e " + outside + "/project || echo removed", "removed"},
		{"reach the network", reach, "reached"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if r := p.pinfold("run", "-q", "--", "bash", "-c", test.script); strings.Contains(r.stdout, test.shows) {
				t.Errorf("it worked: %s", r.stdout)
			}
			if r := p.pinfold("run", "-q", "--preset", "unrestricted", "--", "bash", "-c", test.script); !strings.Contains(r.stdout, test.shows) {
				t.Errorf("unconfined it should work: %s%s", r.stdout, r.stderr)
			}
		})
	}
	for _, test := range []struct {
		args    []string
		reached bool
	}{
		{[]string{"--net", "all"}, true},
		{[]string{"--connect", fmt.Sprint(port)}, true},
		{[]string{"--connect", "1"}, false},
		{[]string{"--net", "none"}, false},
		{[]string{"--preset", "unrestricted", "--net", "none"}, false},
	} {
		r := p.pinfold(append(append([]string{"run", "-q"}, test.args...), "--", "bash", "-c", reach)...)
		if got := strings.Contains(r.stdout, "reached"); got != test.reached {
			t.Errorf("%q: reached the network: %v %s", test.args, got, r.stderr)
		}
	}
}

func TestPathFlags(t *testing.T) {
	p := newPlace(t)
	outside := filepath.Join(filepath.Dir(p.workspace), "outside")
	if err := os.Mkdir(outside, 0o755); err != nil {
		t.Fatal(err)
	}
	copyFile(t, "/bin/echo", filepath.Join(outside, "program"))
	copyFile(t, "/bin/echo", filepath.Join(p.workspace, "program"))
	const read, write, execute = "read", "write", "execute"
	scripts := map[string]string{
		read:    "cat %[1]s/program >/dev/null",
		write:   "echo x > %[1]s/new && rm %[1]s/new",
		execute: "%[1]s/program",
	}
	for _, test := range []struct {
		args []string
		dir  string
		may  []string
	}{
		{nil, outside, nil},
		{[]string{"--read", outside}, outside, []string{read}},
		{[]string{"--write", outside}, outside, []string{read, write}},
		{[]string{"--exec", outside}, outside, []string{read, execute}},
		{[]string{"--exec", "../outside", "--write", "../outside"}, outside, []string{read, write, execute}},
		{nil, p.workspace, []string{read, write, execute}},
		{[]string{"--preset", "read-only"}, p.workspace, []string{read, execute}},
		{[]string{"--preset", "unrestricted"}, outside, []string{read, write, execute}},
		{[]string{"--preset", "read-only", "--write", "."}, p.workspace, []string{read, write, execute}},
	} {
		for what, script := range scripts {
			r := p.pinfold(append(append([]string{"run", "-q"}, test.args...), "--", "sh", "-c", fmt.Sprintf(script, test.dir))...)
			if allowed := strings.Contains(strings.Join(test.may, " "), what); (r.status == 0) != allowed {
				t.Errorf("%q: may %s in %s: %v, status %d %s", test.args, what, test.dir, allowed, r.status, r.stderr)
			}
		}
	}
	if err := os.MkdirAll(filepath.Join(p.workspace, "private"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.workspace, "private/key"), []byte("hunter2"), 0o644); err != nil {
		t.Fatal(err)
	}
	if r := p.pinfold("run", "-q", "--deny", "private", "--", "cat", "private/key"); r.status == 0 || strings.Contains(r.stdout, "hunter2") {
		t.Errorf("--deny has no effect: status %d", r.status)
	}
	if r := p.pinfold("run", "--read", "/no/such/path", "--", "true"); !strings.Contains(r.stderr, `--read: "/no/such/path" does not exist`) {
		t.Errorf("a missing path is not mentioned: %s", r.stderr)
	}
}
