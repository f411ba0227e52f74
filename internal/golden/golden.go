// Package golden compares texts that people read with files under testdata. Run
// with -update, a test rewrites its files instead; make goldens does so for every
// package that imports this one.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

// Update is the flag -update: golden files are rewritten, not compared.
var Update = flag.Bool("update", false, "rewrite the golden files under testdata/")

// home is where the test binary starts: in the folder of its package. A test may
// go elsewhere later.
var home, _ = os.Getwd()

// Compare fails the test if text is not what is in testdata/name.
func Compare(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(home, "testdata", name)
	if *Update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if text != string(want) {
		t.Errorf("testdata/%s differs (run with -update to accept, and read the difference). Now it is:\n%s", name, text)
	}
}
