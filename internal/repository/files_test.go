package repository

import (
	"bytes"
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// maxLines is how long a hand-written file may be. What is longer has two subjects.
const maxLines = 500

// long tells whether a file's length is nobody's choice: licence, checksums, recorded data.
func long(name string) bool {
	base := path.Base(name)
	return base == "LICENSE" || base == "go.sum" || strings.Contains(name, "testdata/")
}

func TestFilesAreShortEnoughToRead(t *testing.T) {
	generated := map[string]bool{}
	for _, file := range sources(t) {
		generated[file.name] = ast.IsGenerated(file.File)
	}
	for _, name := range files(t) {
		if long(name) || generated[name] {
			continue
		}
		if lines := bytes.Count(read(t, name), []byte("\n")); lines > maxLines {
			t.Errorf("%s has %d lines, more than %d", name, lines, maxLines)
		}
	}
}

// foreign matches what belongs to one machine or one network and would break, or mislead, everywhere else: directories of a
// build machine and the hosts of package registries and their mirrors, which are each person's own configuration. The
// expressions are put together from pieces because this file is searched too.
var foreign = []struct {
	expr *regexp.Regexp
	what string
}{
	{regexp.MustCompile(`(^|[^A-Za-z0-9_.~$})-])/wo` + `rk/`), "a directory of one machine"},
	{regexp.MustCompile(`/ro` + `ot/(go|\.cache|\.config)\b`), "a directory of one machine"},
	{regexp.MustCompile(`(pro` + `xy|su` + `m)\.golang\.org`), "the Go module proxy"},
	{regexp.MustCompile(`registry\.np` + `mjs\.|registry\.ya` + `rnpkg\.`), "a JavaScript registry"},
	{regexp.MustCompile(`\bpy` + `pi\.org|pyth` + `onhosted\.org`), "a Python registry"},
	{regexp.MustCompile(`(index|static)\.crates` + `\.io|ruby` + `gems\.org|repo1?\.ma` + `ven\.`), "a package registry"},
	{regexp.MustCompile(`\b(deb|security|ftp[.a-z]*|cdn-fastly\.deb)\.debi` + `an\.org|archive\.ubu` + `ntu\.com`), "a Debian mirror"},
}

// belongsElsewhere returns what the first match in text is, and the line it is on, or "".
func belongsElsewhere(text []byte) (what, line string) {
	for _, f := range foreign {
		if at := f.expr.FindIndex(text); at != nil {
			start := bytes.LastIndexByte(text[:at[1]-1], '\n') + 1
			end := at[1] + max(bytes.IndexByte(text[at[1]:], '\n'), 0)
			return f.what, string(text[start:end])
		}
	}
	return "", ""
}

func TestNothingOfOneMachine(t *testing.T) {
	for _, name := range files(t) {
		text := read(t, name)
		if bytes.IndexByte(text, 0) >= 0 {
			t.Errorf("%s is binary: nothing here needs to be", name)
			continue
		}
		if what, line := belongsElsewhere(text); what != "" {
			t.Errorf("%s names %s: %s", name, what, line)
		}
	}
}

func TestForeignNamesAreFound(t *testing.T) {
	slash := "/"
	for text, want := range map[string]bool{
		"see " + slash + "work" + slash + "main":      true,
		`"` + slash + "work" + slash + `x"`:           true,
		"first\n" + slash + "work" + slash:            true,
		"/home/me/work/x":                             false,
		"$HOME/work/x and ${DIR}/work/x and ../work/": false,
		"framework/":                                               false,
		"https://pro" + "xy.golang.org/x":                          true,
		"GOPROXY=https://py" + "pi.org":                            true,
		"http://deb.debi" + "an.org/debian":                        true,
		"https://www.debian.org/, crates.io and pkg.go.dev":        false,
		"golang.org/x/sys":                                         false,
		slash + "ro" + "ot/.cache/go-build":                        true,
		"a workspace of " + slash + "ro" + "ot is a home like any": false,
	} {
		if what, _ := belongsElsewhere([]byte(text)); (what != "") != want {
			t.Errorf("%q: found %q, want a find: %v", text, what, want)
		}
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}
