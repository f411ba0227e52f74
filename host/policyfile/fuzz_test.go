package policyfile

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/pinfold/pinfold/core"
)

// Whatever the file has in it, Parse returns a policy that confines at least as
// its preset does, or an error that names the file and harms no terminal.
func FuzzParse(f *testing.F) {
	for _, text := range mistakes {
		f.Add(text)
	}
	whole, err := os.ReadFile("testdata/whole.toml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(whole))
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse("policy.toml", []byte(text), "/w")
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || !strings.HasPrefix(err.Error(), "policy.toml") {
				t.Errorf("an error of another kind: %v", err)
			}
			if strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' || r == 0x7f }) {
				t.Errorf("the error has control characters: %q", err)
			}
			if strings.Count(text, "\n")+1 < e.Line {
				t.Errorf("line %d of a text with fewer: %v", e.Line, err)
			}
			return
		}
		if p.Filesystem.Confined != (p.Unix.Mode == core.UnixNone) || p.Network.Mode == 0 {
			t.Errorf("neither a confining policy nor an unrestricted one: %+v", p)
		}
		for _, rule := range p.Filesystem.Rules {
			if rule.Access == 0 || rule.Path == "" || strings.ContainsRune(rule.Path, 0) {
				t.Errorf("a rule that the host would refuse: %+v", rule)
			}
			if rule.Origin != "preset" && (!strings.HasPrefix(rule.Origin, "policy.toml:") || rule.Origin == "policy.toml:0") {
				t.Errorf("a rule of unknown origin: %+v", rule)
			}
		}
	})
}

func FuzzSize(f *testing.F) {
	for _, text := range []string{"1", "2GiB", "500MB", "18446744073709551615", "1 TiB", "B", "-1B"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if n, err := parseSizeText(text); err == nil && (n == 0 || n > 1<<63-1) {
			t.Errorf("%q is %d", text, n)
		}
	})
}
