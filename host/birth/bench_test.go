//go:build linux && (amd64 || arm64)

package birth

import (
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
)

// staticTrue builds the least command there is.
func staticTrue(b *testing.B) string {
	b.Helper()
	dir := b.TempDir()
	if err := os.WriteFile(dir+"/true.c", []byte("int main(void) { return 0; }\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	if out, err := exec.Command("cc", "-static", "-O2", "-o", dir+"/true", dir+"/true.c").CombinedOutput(); err != nil {
		b.Skipf("needs a C compiler and a static C library: %v %s", err, out)
	}
	return dir + "/true"
}

// forkExec starts the command as package syscall does, and waits for it.
func forkExec(b *testing.B, path string, null *os.File) {
	fd := null.Fd()
	pid, err := syscall.ForkExec(path, []string{"true"}, &syscall.ProcAttr{
		Env: []string{"A=1"}, Files: []uintptr{fd, fd, fd}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := syscall.Wait4(pid, nil, 0, nil); err != nil {
		b.Fatal(err)
	}
}

func born(b *testing.B, path string, null *os.File, birth *core.Birth) {
	process, err := Start(&Command{
		Path: path, Args: []string{"true"}, Env: []string{"A=1"}, Files: []*os.File{null, null, null}, Setsid: true,
	}, birth)
	if err != nil {
		b.Fatal(err)
	}
	if state, err := process.Wait(); err != nil || !state.Success() {
		b.Fatal(state, err)
	}
}

// confinement is what a confined command has: a Landlock ruleset, a filter of 12
// instructions, limits and no_new_privs.
func confinement(b *testing.B) core.Birth {
	fd, err := ll.LandlockCreateRuleset(&ll.RulesetAttr{HandledAccessFS: 1<<13 - 1}, 0)
	if err != nil {
		b.Skipf("needs Landlock: %v", err)
	}
	ruleset := os.NewFile(uintptr(fd), "ruleset")
	b.Cleanup(func() { ruleset.Close() })
	root, err := unix.Open("/", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer unix.Close(root)
	rule := ll.PathBeneathAttr{AllowedAccess: ll.AccessFSReadFile | ll.AccessFSReadDir | ll.AccessFSExecute, ParentFd: root}
	if err := ll.LandlockAddPathBeneathRule(fd, &rule, 0); err != nil {
		b.Fatal(err)
	}
	birth := filtered(comparing(5))
	birth.Landlock = []core.LandlockRuleset{{File: ruleset}}
	birth.Limits = []core.ResourceLimit{
		{Resource: core.ResourceCore},
		{Resource: core.ResourceOpenFiles, Soft: 1024, Hard: 4096},
	}
	return *birth
}

// comparing is a filter that compares the number of every call with n others.
func comparing(n int) core.SeccompFilter {
	calls := make([]uintptr, n)
	for i := range calls {
		calls[i] = uintptr(1000 + i)
	}
	return answer(refuseWith|uint32(unix.EPERM), calls...)
}

// BenchmarkBirth measures, until the command is reaped, births in turn with bare
// starts of the same command, and reports the medians of both in microseconds
// and their ratio.
func BenchmarkBirth(b *testing.B) {
	path := staticTrue(b)
	null, err := os.OpenFile("/dev/null", os.O_RDWR, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer null.Close()
	variants := []struct {
		name    string
		prepare func(*core.Birth)
	}{
		{"nothing", func(birth *core.Birth) { *birth = core.Birth{} }},
		{"without-seccomp", func(birth *core.Birth) { birth.Seccomp = nil }},
		{"confined", func(*core.Birth) {}},
		{"capabilities", func(birth *core.Birth) { birth.DropCapabilities = ^uint64(0x1fb) }},
		{"long-filter", func(birth *core.Birth) { birth.Seccomp[0] = comparing(60) }},
		{"mounts", func(birth *core.Birth) {
			mountsOf(birth, core.Mount{Kind: core.MountBind, Source: "/usr", Target: "/usr", ReadOnly: true})
		}},
		{"user+mounts", func(birth *core.Birth) {
			birth.Namespaces = core.NamespaceUser
			mountsOf(birth, core.Mount{Kind: core.MountBind, Source: "/usr", Target: "/usr", ReadOnly: true})
		}},
	}
	for _, host := range []string{"small", "2GiB"} {
		for _, v := range variants {
			b.Run(host+"/"+v.name, func(b *testing.B) {
				if host != "small" {
					touch(b, 2<<30)
				}
				birth := confinement(b)
				v.prepare(&birth)
				compare(b, func() { forkExec(b, path, null) }, func() { born(b, path, null, &birth) })
			})
		}
	}
	b.Run("small/cgroup", func(b *testing.B) { benchmarkCgroup(b, path, null) })
	b.Run("parallel", func(b *testing.B) {
		birth := confinement(b)
		compare(b,
			func() { eight(func() { forkExec(b, path, null) }) },
			func() { eight(func() { born(b, path, null, &birth) }) })
	})
}

// eight does the same in eight goroutines.
func eight(do func()) {
	var running sync.WaitGroup
	for range 8 {
		running.Go(do)
	}
	running.Wait()
}

// benchmarkCgroup includes the cgroup's whole life.
func benchmarkCgroup(b *testing.B, path string, null *os.File) {
	birth := confinement(b)
	dir := cgroup2(b) + "/birth-bench"
	compare(b, func() { forkExec(b, path, null) }, func() {
		if err := os.Mkdir(dir, 0o755); err != nil {
			b.Skip(err)
		}
		birth.Cgroup, _ = os.Open(dir)
		born(b, path, null, &birth)
		birth.Cgroup.Close()
		os.WriteFile(dir+"/cgroup.kill", []byte("1"), 0)
		if err := os.Remove(dir); err != nil {
			b.Fatal(err)
		}
	})
}

func compare(b *testing.B, one, other func()) {
	var ones, others []time.Duration
	for b.Loop() {
		start := time.Now()
		one()
		middle := time.Now()
		other()
		ones, others = append(ones, middle.Sub(start)), append(others, time.Since(middle))
	}
	was, is := median(ones), median(others)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(was.Nanoseconds())/1000, "bare-µs")
	b.ReportMetric(float64(is.Nanoseconds())/1000, "birth-µs")
	b.ReportMetric(float64(is)/float64(was), "ratio")
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
