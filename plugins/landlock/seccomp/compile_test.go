package seccomp

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/pinfold/pinfold/internal/golden"
)

// interesting are argument values around what the rules compare.
func interesting() []uint64 {
	values := []uint64{0, 1, 2, 3, 5, 6, 10, 16, 17, 40, 0xffffffff, 0x80801}
	var all []rule
	for _, g := range closedGroups {
		all = append(all, g...)
	}
	all = append(all, truncateRules()...)
	for n := NetworkOff; n <= NetworkUnfiltered; n++ {
		for u := UnixClosed; u <= UnixOpen; u++ {
			all = append(all, socketRules(Options{Network: n, Unix: u})...)
		}
	}
	for _, r := range all {
		for _, c := range r.when {
			values = append(values, uint64(c.mask.value))
			for _, v := range c.values {
				values = append(values, uint64(v.value), uint64(v.value)|0x80000, uint64(v.value)<<32)
			}
		}
	}
	return values
}

// TestProgramEqualsTable compares, for every combination of options on both
// architectures, the compiled program with the rules read one by one: all call
// numbers that could matter, with arguments drawn from those the rules compare
// and garbage in the upper halves.
func TestProgramEqualsTable(t *testing.T) {
	pool := interesting()
	for _, o := range everyOptions() {
		t.Run(o.testName(), func(t *testing.T) {
			t.Parallel()
			f := mustCompile(t, o)
			rng := rand.New(rand.NewPCG(1, 2))
			numbers := []uint32{1 << 30, 1<<30 + 41, 1<<31 - 1, 1 << 31, noCall - 1, noCall}
			for n := range uint32(1024) {
				numbers = append(numbers, n)
			}
			conditional := make(map[uint32]bool)
			for _, r := range rulesFor(o) {
				if len(r.when) > 0 {
					conditional[uint32(machines[o.Arch].number(callsByName[r.call]))] = true
				}
			}
			for _, n := range numbers {
				tries := 2
				if conditional[n] {
					tries = 200
				}
				for range tries {
					d := callData{number: n, arch: machines[o.Arch].audit}
					for i := range d.args {
						d.args[i] = pool[rng.IntN(len(pool))]
						if rng.IntN(4) == 0 {
							d.args[i] |= uint64(rng.Uint32()) << 32
						}
					}
					if got, want := answerTo(t, f, d), expected(o, d); got != want {
						t.Fatalf("%+v: program says %v, table %v", d, answerNames[got], answerNames[want])
					}
				}
			}
		})
	}
}

// TestForeignArchitectures: every call of another architecture is ENOSYS.
func TestForeignArchitectures(t *testing.T) {
	foreign := map[string]uint32{"i386": 0x40000003, "arm": 0x40000028, "x86-64": 0xc000003e, "arm64": 0xc00000b7, "zero": 0, "ones": ^uint32(0)}
	for _, o := range everyOptions() {
		f := mustCompile(t, o)
		for name, arch := range foreign {
			if arch == machines[o.Arch].audit {
				continue
			}
			for n := range uint32(1024) {
				if got := answerTo(t, f, callData{number: n, arch: arch}); got != enosys {
					t.Fatalf("%s: call %d of %s is answered %v", o.testName(), n, name, answerNames[got])
				}
			}
		}
	}
}

// TestAllowedWithoutArguments: what no rule names must be allowed without a look
// at an argument, or the kernel could not take it off the slow path. The same
// test bounds the steps of the search.
func TestAllowedWithoutArguments(t *testing.T) {
	for _, o := range everyOptions() {
		f := mustCompile(t, o)
		ruled := make(map[uint32]bool)
		for _, r := range rulesFor(o) {
			ruled[uint32(machines[o.Arch].number(callsByName[r.call]))] = true
		}
		for n := range uint32(newestCall + 1) {
			value, readArgs, steps := run(t, f, callData{number: n, arch: machines[o.Arch].audit})
			if !ruled[n] && (value != retAllow || readArgs) {
				t.Fatalf("%s: call %d: value %#x, arguments read: %v", o.testName(), n, value, readArgs)
			}
			if steps > 24 {
				t.Errorf("%s: call %d takes %d steps", o.testName(), n, steps)
			}
		}
		if len(f.Program) > 512 {
			t.Errorf("%s: %d instructions", o.testName(), len(f.Program))
		}
	}
}

// TestLaunchGoesThrough: the calls that a launcher needs after the filter is in
// place, and that keep the C library going, are open in every filter.
func TestLaunchGoesThrough(t *testing.T) {
	numbers := map[Arch][]uint32{
		// read, write, close, execve, exit, exit_group, rt_sigreturn,
		// restart_syscall, execveat
		AMD64: {0, 1, 3, 59, 60, 231, 15, 219, 322},
		ARM64: {63, 64, 57, 221, 93, 94, 139, 128, 281},
	}
	for _, o := range everyOptions() {
		f := mustCompile(t, o)
		for _, n := range numbers[o.Arch] {
			if got := answerTo(t, f, callData{number: n, arch: machines[o.Arch].audit}); got != allow {
				t.Errorf("%s: call %d is answered %v", o.testName(), n, answerNames[got])
			}
		}
	}
}

func TestDeterministicAndConcurrent(t *testing.T) {
	want := mustCompile(t, Options{Arch: AMD64, Network: NetworkTCP})
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			got, err := Compile(Options{Arch: AMD64, Network: NetworkTCP})
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("another program (error %v)", err)
			}
		})
	}
	wg.Wait()
}

func TestDefaultArch(t *testing.T) {
	if _, ok := machines[Arch(runtime.GOARCH)]; !ok {
		t.Skipf("no table for %s", runtime.GOARCH)
	}
	if !reflect.DeepEqual(mustCompile(t, Options{}), mustCompile(t, Options{Arch: Arch(runtime.GOARCH)})) {
		t.Error("the empty architecture is not the running one")
	}
}

func TestBadOptions(t *testing.T) {
	for _, c := range []struct {
		name, say string
		o         Options
	}{
		{"architecture", "riscv64", Options{Arch: "riscv64"}},
		{"network", "network mode 9", Options{Arch: AMD64, Network: 9}},
		{"negative network", "network mode -1", Options{Arch: AMD64, Network: -1}},
		{"unix", "unix socket mode 2", Options{Arch: AMD64, Unix: 2}},
		{"group", "unknown(0x200)", Options{Arch: AMD64, Leave: groupEnd}},
		{"io_uring beside closed network", "io_uring", Options{Arch: AMD64, Unix: UnixOpen, Leave: GroupIOUring}},
		{"io_uring beside closed unix", "io_uring", Options{Arch: AMD64, Network: NetworkUnfiltered, Leave: GroupIOUring}},
		{"io_uring beside truncate", "io_uring", Options{Arch: AMD64, Network: NetworkUnfiltered, Unix: UnixOpen, CloseTruncate: true, Leave: GroupIOUring}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := Compile(c.o)
			if err == nil || f.Program != nil || !strings.Contains(err.Error(), c.say) {
				t.Errorf("filter of %d instructions, error %v", len(f.Program), err)
			}
			if _, listErr := Listing(c.o); listErr == nil || listErr.Error() != err.Error() {
				t.Errorf("Listing: %v, Compile: %v", listErr, err)
			}
		})
	}
	if _, err := Compile(Options{Arch: "riscv64"}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("%v is not ErrUnsupported", err)
	}
}

func TestListing(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Options
	}{
		{"off", Options{}},
		{"off-unix", Options{Unix: UnixOpen}},
		{"tcp", Options{Network: NetworkTCP}},
		{"tcp-listen-unix", Options{Network: NetworkTCP, Listen: true, Unix: UnixOpen}},
		{"all", Options{Network: NetworkAll}},
		{"unfiltered", Options{Network: NetworkUnfiltered}},
		{"truncate-leave-ipc", Options{CloseTruncate: true, Leave: GroupIPC | GroupTracing}},
		{"open", Options{Network: NetworkUnfiltered, Unix: UnixOpen, Leave: groupEnd - 1}},
	} {
		for _, arch := range []Arch{AMD64, ARM64} {
			t.Run(c.name+"/"+string(arch), func(t *testing.T) {
				c.o.Arch = arch
				got, err := Listing(c.o)
				if err != nil {
					t.Fatal(err)
				}
				golden.Compare(t, c.name+"-"+string(arch)+".txt", got)
			})
		}
	}
}
