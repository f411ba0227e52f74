package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/core/lifeline"
)

var secretVariables = map[string]string{
	"AWS_SECRET_ACCESS_KEY": "s1", "GITHUB_TOKEN": "s2", "DATABASE_URL": "s3", "MY_PASSWORD": "s4",
	"LD_PRELOAD": "", "BASH_ENV": "/nothing", "NODE_OPTIONS": "--nothing",
}

func TestEnvironmentOfCommands(t *testing.T) {
	var names []string
	for name, value := range secretVariables {
		t.Setenv(name, value)
		names = append(names, name)
	}
	t.Setenv("PLUGIN_CLIENT_CERT", "certificate")
	t.Setenv(lifeline.EnvKey, "3")
	protocol := append([]string{"variables"}, protocolVariables...)

	t.Run("unrestricted", func(t *testing.T) {
		s := open(t, sharedFor(t), forAgents(core.Unrestricted(t.TempDir())))
		got := try(t, s, append([]string{"variables"}, names...), protocol)
		for name, value := range secretVariables {
			if !strings.Contains(got[0], name+"="+value) {
				t.Errorf("%s is not passed: %s", name, got[0])
			}
		}
		if got[1] != `""` {
			t.Errorf("variables of the plugin protocol are passed: %s", got[1])
		}
	})
	t.Run("confined", func(t *testing.T) {
		s := open(t, sharedFor(t), forAgents(core.WorkspaceWrite(t.TempDir())))
		got := try(t, s, append([]string{"variables"}, names...), protocol, []string{"variables", "HOME"})
		if got[0] != `""` || got[1] != `""` {
			t.Errorf("seen: %s, %s", got[0], got[1])
		}
		if got[2] != `"HOME=`+os.Getenv("HOME")+`"` {
			t.Errorf("the home is not passed: %s", got[2])
		}
		for _, name := range names {
			if !strings.Contains(" "+strings.Join(s.report.Withheld, " ")+" ", " "+name+" ") {
				t.Errorf("%s is not reported as withheld: %v", name, s.report.Withheld)
			}
		}
	})
	t.Run("passed by name", func(t *testing.T) {
		p := forAgents(core.WorkspaceWrite(t.TempDir()))
		p.Environment.Pass = append(p.Environment.Pass, "GITHUB_TOKEN", "MY_*")
		p.Environment.Set = append(p.Environment.Set, "DATABASE_URL=other")
		s := open(t, sharedFor(t), p)
		got := try(t, s, []string{"variables", "GITHUB_TOKEN", "MY_PASSWORD", "DATABASE_URL", "AWS_SECRET_ACCESS_KEY"})[0]
		if got != `"GITHUB_TOKEN=s2 MY_PASSWORD=s4 DATABASE_URL=other"` {
			t.Errorf("seen: %s", got)
		}
	})
	t.Run("of one command", func(t *testing.T) {
		s := open(t, sharedFor(t), core.WorkspaceWrite(t.TempDir()))
		first, second := s.Command("env"), s.Command("env")
		first.Env = []string{"ONLY=here", "HOME=/elsewhere"}
		one, err := first.Output()
		if err != nil {
			t.Fatal(err)
		}
		two, err := second.Output()
		if err != nil {
			t.Fatal(err)
		}
		if text := string(one); !strings.Contains(text, "ONLY=here\n") || !strings.Contains(text, "HOME=/elsewhere\n") ||
			!strings.Contains(text, "PWD="+s.policy.Workspace+"\n") {
			t.Errorf("the first command saw:\n%s", text)
		}
		if text := "\n" + string(two); strings.Contains(text, "ONLY") || !strings.Contains(text, "\nHOME="+os.Getenv("HOME")+"\n") {
			t.Errorf("the second command saw:\n%s", text)
		}
	})
}

func TestDescriptorsOfCommands(t *testing.T) {
	secret, err := os.Open(writeFile(t, filepath.Join(t.TempDir(), "secret"), "secret"))
	if err != nil {
		t.Fatal(err)
	}
	defer secret.Close()
	// As one that the host has from its own parent.
	inherited, err := unix.Dup(int(secret.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(inherited)
	for _, preset := range core.Presets() {
		p, err := core.Preset(preset, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		s := open(t, sharedFor(t), forAgents(p))
		if got := try(t, s, []string{"descriptors"})[0]; got != `"0 1 2"` {
			t.Errorf("%s: descriptors %s are open", preset, got)
		}
	}
	// The control: a descriptor that is given arrives, and is the one meant.
	s := open(t, sharedFor(t), core.WorkspaceWrite(t.TempDir()))
	cmd := s.Command("sh", "-c", "cat <&3")
	cmd.ExtraFiles = []*os.File{secret}
	if output, err := cmd.CombinedOutput(); string(output) != "secret" {
		t.Errorf("the extra file says %q, %v", output, err)
	}
}

func TestNoNewPrivileges(t *testing.T) {
	for preset, want := range map[string]string{"unrestricted": `"0"`, "read-only": `"1"`, "workspace-write": `"1"`} {
		p, err := core.Preset(preset, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		s := open(t, sharedFor(t), forAgents(p))
		if got := try(t, s, []string{"status", "NoNewPrivs"})[0]; got != want {
			t.Errorf("%s: no_new_privs is %s, want %s", preset, got, want)
		}
	}
}
