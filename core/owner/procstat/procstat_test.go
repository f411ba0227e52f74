package procstat

import (
	"os"
	"runtime"
	"testing"
)

const line = "4242 (cat) S 17 4242 17 34816 4242 4194304 104 0 0 0 0 0 0 0 20 0 3 0 987654321 3100672 220 18446744073709551615 0 0\n"

func TestParse(t *testing.T) {
	want := Stat{PID: 4242, Command: "cat", State: 'S', Parent: 17, Threads: 3, Start: 987654321}
	got, err := Parse([]byte(line))
	if err != nil || got != want {
		t.Fatalf("Parse = %+v, %v; want %+v", got, err, want)
	}
}

// A process names itself, so its name tries to look like the rest of the line.
func TestParseHostileCommand(t *testing.T) {
	for _, command := range []string{"", " ", "a b", "(", ")", ") S 1 1", ") Z 1 (", "((()))", "a\nb", "\xff\x00"} {
		text := "7 (" + command + ") R 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 55 0 0\n"
		got, err := Parse([]byte(text))
		want := Stat{PID: 7, Command: command, State: 'R', Parent: 1, Threads: 1, Start: 55}
		if err != nil || got != want {
			t.Errorf("command %q: Parse = %+v, %v; want %+v", command, got, err, want)
		}
	}
}

func TestParseMalformed(t *testing.T) {
	for _, text := range []string{
		"", "7", "7 (cat", "7 cat) R", ")(", "(x) R 1", "7 (cat) R 1 7",
		"x (cat) R 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 55 0",
		"7 (cat) R x 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 55 0",
		"7 (cat) R 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 x 0 55 0",
		"7 (cat) R 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 -1 0",
		"7 (cat) Running 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 55 0",
	} {
		if got, err := Parse([]byte(text)); err == nil {
			t.Errorf("Parse(%q) = %+v, want an error", text, got)
		}
	}
}

func TestGone(t *testing.T) {
	for _, c := range []struct {
		state   byte
		threads int
		gone    bool
	}{{'R', 1, false}, {'D', 1, false}, {'T', 1, false}, {'Z', 1, true}, {'Z', 0, true}, {'X', 0, true}, {'Z', 2, false}} {
		if got := (Stat{State: c.state, Threads: c.threads}).Gone(); got != c.gone {
			t.Errorf("state %c with %d threads: Gone = %v", c.state, c.threads, got)
		}
	}
}

func TestReadSelf(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("/proc/PID/stat is Linux's")
	}
	s, err := Read(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if s.PID != os.Getpid() || s.Parent != os.Getppid() || s.Start == 0 || s.Threads < 1 || s.Gone() {
		t.Errorf("Read(self) = %+v", s)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(line))
	f.Add([]byte("7 (a) b) R 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 55 0"))
	f.Add([]byte(")("))
	f.Fuzz(func(t *testing.T, text []byte) { Parse(text) })
}
