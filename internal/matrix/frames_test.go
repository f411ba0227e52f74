package main

import (
	"bytes"
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestFrames(t *testing.T) {
	encoded := base64.StdEncoding.EncodeToString([]byte("hello"))
	good := "noise\r\n\r\n@N begin root/output\r\n" + encoded[:4] + "\r\n" + encoded[4:] + "\r\n@N end root/output 3\r\n"
	for name, c := range map[string]struct {
		text string
		ok   bool
	}{
		"whole":                       {good + "@N done\n", true},
		"cut off":                     {good, false},
		"after the end":               {good + "@N done\n@N begin more\n", true},
		"with a made-up frame before": {"@M begin root/output\n@M end root/output 0\n@M done\n@begin root/output\n" + good + "@N done\n", true},
		"twice":                       {good + good + "@N done\n", false},
		"a frame within a frame":      {"@N begin a\n@N begin b\n@N end b 0\n@N done\n", false},
		"an end without a beginning":  {"@N end a 0\n@N done\n", false},
		"done too early":              {"@N begin a\n@N done\n", false},
		"another end":                 {"@N begin a\n@N end b 0\n@N done\n", false},
		"no status":                   {"@N begin a\n@N end a x\n@N done\n", false},
	} {
		sections, err := readFrames(c.text, "N")
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
		if got := sections["root/output"]; c.ok && (string(got.data) != "hello" || got.status != 3) {
			t.Errorf("%s: read %+v", name, got)
		}
	}
	// A frame made up by a payload that does not know the nonce spoils the one around it, and never becomes one.
	spoilt := "@N begin root/output\n" + encoded + "\n@M end root/output 0\n@N end root/output 3\n@N done\n"
	if sections, err := readFrames(spoilt, "N"); err == nil || len(sections) > 0 {
		t.Errorf("taken for %+v", sections)
	}
}

func TestArchive(t *testing.T) {
	if _, err := exec.LookPath("cpio"); err != nil {
		t.Skip("cpio, which would read the archive, is not installed")
	}
	var archive bytes.Buffer
	w := &archiveWriter{out: &archive}
	w.file("vm/job", 0o600, []byte("nonce"))
	w.file("vm/bin/program", 0o755, []byte("#!/bin/sh\n"))
	if err := w.close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("cpio", "--extract", "--make-directories", "--no-preserve-owner", "--quiet")
	cmd.Dir, cmd.Stdin = t.TempDir(), &archive
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("%v: %s", err, out)
	}
	for name, want := range map[string]struct {
		mode os.FileMode
		text string
	}{"vm/job": {0o600, "nonce"}, "vm/bin/program": {0o755, "#!/bin/sh\n"}} {
		info, err := os.Stat(filepath.Join(cmd.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(cmd.Dir, name))
		if err != nil || info.Mode() != want.mode || string(text) != want.text {
			t.Errorf("%s: %v %v %q", name, err, info.Mode(), text)
		}
	}
}

func TestMachines(t *testing.T) {
	names := map[string]bool{}
	for i, c := range golden(t) {
		if order(c.machine) != i {
			t.Errorf("%s is in place %d of the golden file and %d of the matrix", c.machine, i, order(c.machine))
		}
		if names[c.machine] {
			t.Errorf("%s is in it twice", c.machine)
		}
		names[c.machine] = true
	}
}
