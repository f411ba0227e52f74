package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// runModule runs the real go test over packages of testdata/module and returns the log and the verdict.
func runModule(t *testing.T, list string, packages ...string) (string, bool) {
	t.Helper()
	cmd := exec.Command("go", append([]string{"test", "-json"}, packages...)...)
	cmd.Dir = filepath.Join("testdata", "module")
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	events, err := cmd.Output()
	if len(events) == 0 {
		t.Fatalf("go test wrote no events: %v", err)
	}
	return runEvents(t, string(events), list)
}

func runEvents(t *testing.T, events, list string) (string, bool) {
	t.Helper()
	file := ""
	if list != "" {
		file = filepath.Join(t.TempDir(), "list")
		if err := os.WriteFile(file, []byte(list), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	ok, err := report(strings.NewReader(events), &out, file)
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), ok
}

func TestLogOfRealRuns(t *testing.T) {
	const module = modulePath + "/"
	for _, c := range []struct {
		pkg        string
		ok         bool
		has, lacks []string
	}{
		{
			pkg: "mixed",
			has: []string{
				"=== TestFails/bad\n    mixed_test.go:10: the reason of the failure\n        in two lines\n--- FAIL: TestFails/bad",
				"skip\t" + module + "mixed\tTestSkips\n\tmixed_test.go:13: the kernel has no\n\tsuch thing\n",
				"skip\t" + module + "mixed\tTestSkipsInside/two\n\t(no reason given)\n",
				"FAIL\t" + module + "mixed\t",
				"1 packages: 4 tests passed, 2 failed, 2 skipped\n",
				"FAIL: " + module + "mixed TestFails/bad\n",
			},
			lacks: []string{"nobody needs", "nor this", "=== RUN"},
		},
		{
			pkg:   "panics",
			has:   []string{"panic: out of the blue", "FAIL: " + module + "panics TestPanics\n", "panics_test.go:8"},
			lacks: []string{"TestNeverReached"},
		},
		{pkg: "exits", has: []string{"a last line\n", "FAIL: " + module + "exits TestExits\n"}},
		{pkg: "nobuild", has: []string{"undefined: undefinedName", "[build failed]", "FAIL: " + module + "nobuild\n"}},
		{pkg: "empty", ok: true, has: []string{"[no test files]"}, lacks: []string{"FAIL"}},
	} {
		t.Run(c.pkg, func(t *testing.T) {
			log, ok := runModule(t, "", "./"+c.pkg)
			if ok != c.ok {
				t.Errorf("verdict %v, want %v", ok, c.ok)
			}
			for _, want := range c.has {
				if !strings.Contains(log, want) {
					t.Errorf("the log lacks %q", want)
				}
			}
			for _, banned := range c.lacks {
				if strings.Contains(log, banned) {
					t.Errorf("the log has %q", banned)
				}
			}
			if t.Failed() {
				t.Logf("the log:\n%s", log)
			}
		})
	}
}

// events writes the stream of one package from words such as "TestA pass", closing it with the package's own result.
func events(pkg, result string, tests ...string) string {
	var b strings.Builder
	at := `"Package":"` + modulePath + "/" + pkg + `"`
	b.WriteString(`{"Action":"start",` + at + "}\n")
	for _, test := range tests {
		name, action, _ := strings.Cut(test, " ")
		named := at + `,"Test":"` + name + `"`
		b.WriteString(`{"Action":"run",` + named + "}\n")
		if action == "skip" {
			b.WriteString(`{"Action":"output",` + named + `,"Output":"    x_test.go:1: why not\n"}` + "\n")
		}
		if action != "" {
			b.WriteString(`{"Action":"` + action + `",` + named + "}\n")
		}
	}
	if result != "" {
		b.WriteString(`{"Action":"output",` + at + `,"Output":"` + result + ` ` + pkg + `\n"}` + "\n")
		b.WriteString(`{"Action":"` + map[string]string{"ok": "pass", "FAIL": "fail"}[result] + `",` + at + "}\n")
	}
	return b.String()
}

func TestList(t *testing.T) {
	run := events("a", "ok", "TestOne pass", "TestTwo skip", "TestTree pass", "TestTree/x pass", "TestTree/y skip") +
		events("b/c", "ok", "TestOne pass")
	for _, c := range []struct{ list, violation string }{
		{"a TestOne", ""},
		{"# nothing\n\n a  TestOne # a remark", ""},
		{"a TestTwo", "list:1: a TestTwo: github.com/pinfold/pinfold/a TestTwo was skipped:\n\tx_test.go:1: why not"},
		{"a TestThree", "a TestThree: no such test was run"},
		{"b TestOne", "b TestOne: no such test was run"},
		{"b/* TestOne", ""},
		{"* TestOne", ""},
		{"a TestT*", "TestTwo was skipped"},
		{"a TestTree", ""},
		{"a TestTree/...", "TestTree/y was skipped"},
		{"a TestTree/x/...", ""},
		{"a TestTree/*", "TestTree/y was skipped"},
		{"a TestTr/...", "no such test was run"},
		{". TestOne", "no such test was run"},
	} {
		log, ok := runEvents(t, run, c.list)
		if ok != (c.violation == "") || !strings.Contains(log, c.violation) {
			t.Errorf("%q: verdict %v, want violation %q, got:\n%s", c.list, ok, c.violation, log)
		}
	}
}

func TestListRefusesWhatItCannotRead(t *testing.T) {
	for list, want := range map[string]string{
		"a":               "list:1: want a package and a test, got 1 fields",
		"a TestOne extra": "got 3 fields",
		"\na Test[":       "list:2: \"Test[\": syntax error in pattern",
		"[ TestOne":       "syntax error in pattern",
	} {
		_, err := readList("list", strings.NewReader(list))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", list, err, want)
		}
	}
	if _, err := report(strings.NewReader(""), &bytes.Buffer{}, "testdata/no-such-list"); !os.IsNotExist(err) {
		t.Errorf("a list that is not there: got %v", err)
	}
}

func TestRunsThatProveNothingFail(t *testing.T) {
	for name, c := range map[string]struct{ stream, want string }{
		"no output at all":          {"", "FAIL: no package reported a result"},
		"not events":                {"go: cannot find main module\n", "go: cannot find main module\n"},
		"package without an end":    {events("a", "", "TestOne pass"), "[no result: the output of go test ends early]"},
		"test without an end":       {events("a", "FAIL", "TestOne"), "FAIL: " + modulePath + "/a TestOne"},
		"passed, but a test is out": {events("a", "ok", "TestOne"), "FAIL: " + modulePath + "/a TestOne"},
		"failed outside a test":     {events("a", "FAIL", "TestOne pass"), "FAIL: " + modulePath + "/a\n"},
		"failed once of two runs":   {events("a", "FAIL", "TestOne fail") + events("a", "ok", "TestOne pass"), "a TestOne did not pass"},
	} {
		log, ok := runEvents(t, c.stream, "a TestOne")
		if ok || !strings.Contains(log, c.want) {
			t.Errorf("%s: verdict %v, want %q, got:\n%s", name, ok, c.want, log)
		}
	}
}

func TestOnePassOfTwoRunsIsEnough(t *testing.T) {
	run := events("a", "ok", "TestOne skip") + events("a", "ok", "TestOne pass")
	if log, ok := runEvents(t, run, "a TestOne"); !ok {
		t.Error(log)
	}
}
