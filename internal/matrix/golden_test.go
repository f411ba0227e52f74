package main

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pinfold/pinfold/internal/matrix/trial"
)

var update = flag.Bool("update", false, "rewrite the tables from the golden file")

// root is the repository, seen from the directory in which go test runs this package.
const root = "../.."

func golden(t *testing.T) []column {
	t.Helper()
	columns, err := readGolden(filepath.Join(root, goldenFile))
	if err != nil {
		t.Fatal(err)
	}
	return columns
}

func TestPagesAgreeWithTheGoldenFile(t *testing.T) {
	columns := golden(t)
	if *update {
		if err := writePages(root, columns); err != nil {
			t.Fatal(err)
		}
	}
	for name, render := range pages {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		want, err := render(string(text), columns)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if want != string(text) {
			t.Errorf("%s is not what the golden file makes of it: make goldens", name)
		}
	}
}

func TestGoldenFileIsReadAsItIsWritten(t *testing.T) {
	columns := golden(t)
	written := filepath.Join(t.TempDir(), "written")
	if err := writeGolden(written, columns); err != nil {
		t.Fatal(err)
	}
	for _, c := range columns {
		again, err := parseGolden(c.block())
		if err != nil || len(again) != 1 || again[0].block() != c.block() {
			t.Errorf("%s: read again as %+v, %v", c.machine, again, err)
		}
	}
	want, err := os.ReadFile(filepath.Join(root, goldenFile))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(written)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Error("the golden file is not what is written of it: was it edited by hand?")
	}
}

func TestGoldenFileHasEveryMachineAndNoHole(t *testing.T) {
	columns := golden(t)
	var names []string
	for _, m := range machines(true, regexp.MustCompile("")) {
		names = append(names, m.name())
	}
	for _, c := range columns {
		if !slices.Contains(names, c.machine) {
			t.Errorf("%s is not in the matrix", c.machine)
		}
		names = slices.DeleteFunc(names, func(name string) bool { return name == c.machine })
		for _, d := range trial.Dimensions {
			if c.levels[d] == "" {
				t.Errorf("%s: nothing is said of %s", c.machine, d)
			}
			if c.levels[d] == enforced && c.verdict(d) == "✗" {
				t.Errorf("%s: %s is enforced, and a rogue command got through", c.machine, d)
			}
		}
		if c.standard == runs && len(c.held) == 0 {
			t.Errorf("%s: the default preset runs, and no attempt was held", c.machine)
		}
	}
	if len(names) > 0 {
		t.Errorf("not observed: %q", names)
	}
}

func TestReadmeNeedsItsMarks(t *testing.T) {
	for _, text := range []string{"", "no marks", tableBegin + "\n", tableEnd + "\n"} {
		if _, err := readme(text, nil); err == nil {
			t.Errorf("a table was written into %q", text)
		}
	}
	after, err := readme("before\n"+tableBegin+" -->\nwhat was there\n"+tableEnd+"\nafter\n", nil)
	if err != nil || !strings.HasPrefix(after, "before\n"+tableBegin+" -->\n") || !strings.HasSuffix(after, tableEnd+"\nafter\n") ||
		strings.Contains(after, "what was there") {
		t.Errorf("%v: %s", err, after)
	}
}

func TestMergeAndCompare(t *testing.T) {
	old := []column{
		{machine: "6.1, root", standard: runs, levels: map[string]string{"network": enforced}},
		{machine: "6.12, root", standard: runs},
		{machine: "2.4, root", standard: runs},
	}
	seen := []column{
		{machine: "6.1, root", standard: runs, levels: map[string]string{"network": partial}},
		{machine: "5.10, root", standard: refused + "it is old"},
	}
	merged := merge(old, seen)
	var names []string
	for _, c := range merged {
		names = append(names, c.machine)
	}
	if !slices.Equal(names, []string{"5.10, root", "6.1, root", "6.12, root"}) {
		t.Errorf("merged into %q", names)
	}
	if difference := compare(merged, seen); difference != "" {
		t.Errorf("what was merged differs:\n%s", difference)
	}
	want := "6.1, root\n  - enforced     network\n  + partial      network\n" +
		"5.10, root\n  + 5.10, root\n  + default      refused: it is old\n"
	if difference := compare(old, seen); difference != want {
		t.Errorf("the difference is\n%s", difference)
	}
}
