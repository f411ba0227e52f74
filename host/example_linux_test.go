package host_test

import (
	"errors"
	"io"
	"os"
	"testing"

	"github.com/pinfold/pinfold/core"
)

func TestExample(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	stdout := os.Stdout
	os.Stdout = write
	err = runConfined()
	os.Stdout = stdout
	write.Close()
	if errors.Is(err, core.ErrNotPermitted) || errors.Is(err, core.ErrUnsupported) || errors.Is(err, core.ErrUnenforced) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(read)
	want := "inside: written\noutside: refused\nleft running and killed: 1 (proved empty)\n"
	if err != nil || string(text) != want {
		t.Errorf("it prints %q, %v", text, err)
	}
}
