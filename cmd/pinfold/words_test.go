package main

import (
	"testing"
	"time"

	"github.com/pinfold/pinfold/core"
)

func TestProcesses(t *testing.T) {
	list := []core.Process{{PID: 1, Command: "sleep"}, {PID: 22, Command: "\x1b[2J\nroot"}}
	if got, want := processes(list, 3), `sleep 1, \x1b[2J\nroot 22, and 3 more`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestShellWord(t *testing.T) {
	for path, want := range map[string]string{
		"/usr/bin/x":   "/usr/bin/x",
		"/a b":         "'/a b'",
		"/it's":        `'/it'\''s'`,
		"/new\nline":   `$'/new\nline'`,
		"/it's\n":      `$'/it\'s\n'`,
		"/not\xffutf8": `$'/not\xffutf8'`,
		"/$HOME;`x`":   "'/$HOME;`x`'",
	} {
		if got := shellWord(path); got != want {
			t.Errorf("%q becomes %s, want %s", path, got, want)
		}
	}
}

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "?", 0: "0s", 59 * time.Second: "59s", time.Minute: "1m", 90 * time.Minute: "1h", 47 * time.Hour: "47h", 50 * time.Hour: "2d",
	} {
		if got := age(d); got != want {
			t.Errorf("age(%v) = %s, want %s", d, got, want)
		}
	}
}
