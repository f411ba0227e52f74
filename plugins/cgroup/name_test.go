package cgroup

import (
	"strings"
	"testing"

	"github.com/pinfold/pinfold/core"
)

var exampleName = leafName{
	uid:     1000,
	owner:   core.Owner{PID: 4242, Start: 987654321, Boot: "91994d05-a716-4e3d-9159-43030c196fc3"},
	view:    view{pidNS: 4026531836, timeNS: 4026531834},
	session: core.SessionID{0x01, 0xa1, 0xfb, 0xf5, 0xd8, 0x36, 0x73, 0x3c, 0x8e, 0x4b, 0x73, 0x1c, 0x9e, 0x48, 0xcb, 0x0b},
}

const exampleText = "pinfold-1000-4242-987654321-4026531836-4026531834-91994d05a7164e3d915943030c196fc3-01a1fbf5-d836-733c-8e4b-731c9e48cb0b"

func TestLeafName(t *testing.T) {
	detached := exampleName
	detached.detached = true
	for text, want := range map[string]leafName{exampleText: exampleName, exampleText + "-detached": detached} {
		if got := want.String(); got != text {
			t.Errorf("String = %s, want %s", got, text)
		}
		if got, ok := parseLeafName(text); !ok || got != want {
			t.Errorf("parse(%s) = %+v, %v", text, got, ok)
		}
	}
}

func TestLongestLeafName(t *testing.T) {
	n := exampleName
	n.uid, n.owner.PID, n.owner.Start, n.view, n.detached = 1<<32-1, maxPID, ^uint64(0), view{^uint64(0), ^uint64(0)}, true
	if got := len(n.String()); got != 171 {
		t.Errorf("%d bytes, and the comment says 171", got)
	}
	if got, ok := parseLeafName(n.String()); !ok || got != n {
		t.Errorf("parse = %+v, %v", got, ok)
	}
}

// Whatever is not exactly a name that this version writes is left alone.
func TestOtherNames(t *testing.T) {
	replace := func(old, new string) string { return strings.Replace(exampleText, old, new, 1) }
	for _, text := range []string{
		"", "pinfold", "pinfold-", "user.slice", "docker-4242", "cgroup.procs",
		replace("pinfold", "pinfold2"), replace("pinfold", "PINFOLD"), replace("pinfold", ""),
		replace("1000", "01000"), replace("1000", "-1"), replace("1000", "4294967296"), replace("1000-", ""),
		replace("4242", "0"), replace("4242", "-1"), replace("4242", "+4242"), replace("4242", "04242"), replace("4242", "0x1092"),
		replace("4242", "4294967296"), replace("4242", ""), replace("4242", " 4242"),
		replace("987654321", "99999999999999999999"), replace("987654321", "1e9"), replace("987654321", ""),
		replace("91994d05a716", "91994D05A716"), replace("91994d05", "91994d0"), replace("91994d05", "91994d05-"),
		replace("01a1fbf5", "01A1FBF5"), replace("01a1fbf5-", "01a1fbf5"), replace("01a1fbf5-d836", "{01a1fbf5-d836"),
		exampleText + "-", exampleText + "-DETACHED", exampleText + "-detached-detached", exampleText + " ", exampleText + "\n",
		exampleText + "/..", "../" + exampleText, " " + exampleText, exampleText + exampleText,
	} {
		if got, ok := parseLeafName(text); ok {
			t.Errorf("parse(%q) = %+v", text, got)
		}
	}
}

func FuzzLeafName(f *testing.F) {
	f.Add(exampleText)
	f.Add(exampleText + "-detached")
	f.Add("pinfold-0-1-2-3-4-00000000000000000000000000000000-00000000-0000-0000-0000-000000000000")
	f.Fuzz(func(t *testing.T, text string) {
		n, ok := parseLeafName(text)
		if ok && (n.String() != text || n.owner.PID < 1 || strings.ContainsAny(text, "/\n\x00")) {
			t.Errorf("parse(%q) = %+v, which is %q", text, n, n.String())
		}
	})
}
