//go:build linux && (amd64 || arm64)

package birth

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/internal/golden"
)

// TestPrograms compares the printed programs of typical births with goldens.
func TestPrograms(t *testing.T) {
	t.Chdir("/")
	keepOpenFiles(t)
	null, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	base := func() *Command {
		return &Command{Path: "/usr/bin/make", Args: []string{"make", "test"}, Dir: "/src", Files: []*os.File{null, null, null}}
	}
	confined := core.Birth{
		Limits: []core.ResourceLimit{
			{Resource: core.ResourceCore},
			{Resource: core.ResourceOpenFiles, Soft: 1024, Hard: ^uint64(0)},
		},
		NoNewPrivileges: true,
		Landlock:        []core.LandlockRuleset{{File: null}, {File: null, Flags: 2}},
		Seccomp:         []core.SeccompFilter{answer(killProcess, 1, 2, 3)},
	}
	tracked := confined
	tracked.Cgroup = null
	mounted := confined
	mounted.Namespaces = core.NamespaceUser | core.NamespaceMount | core.NamespacePID | core.NamespaceIPC | core.NamespaceNetwork
	mounted.DropCapabilities = 1<<unix.CAP_SYS_ADMIN | 1<<unix.CAP_SYS_RAWIO
	mounted.Mounts = []core.Mount{
		{Kind: core.MountBind, Source: "/", Target: "/", ReadOnly: true},
		{Kind: core.MountBind, Source: "/src", Target: "/src"},
		{Kind: core.MountBind, Source: "/src/.git", Target: "/src/.git", ReadOnly: true},
		{Kind: core.MountEmpty, Target: "/etc/passwd"},
		{Kind: core.MountEmpty, Target: "/root"},
		{Kind: core.MountProc, Target: "/proc"},
	}
	terminal := base()
	terminal.Setsid, terminal.ControllingTerminal = true, null
	foreground := base()
	foreground.Foreground = null
	collision := base()
	collision.Files = []*os.File{os.Stdout, os.Stdin, nil}
	for name, p := range map[string]struct {
		command *Command
		birth   *core.Birth
	}{
		"plain":      {base(), nil},
		"confined":   {base(), &confined},
		"tracked":    {terminal, &tracked},
		"foreground": {foreground, nil},
		"collision":  {collision, nil},
		"mounts":     {base(), &mounted},
	} {
		program, err := Compile(p.command, p.birth)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		golden.Compare(t, name+".golden", program.String())
	}
}

// keepOpenFiles chooses a limit on open files, so that no program restores the
// one that the machine gave to this process.
func keepOpenFiles(t *testing.T) {
	t.Helper()
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: was.Max - 2, Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Setrlimit(unix.RLIMIT_NOFILE, &was) })
}
