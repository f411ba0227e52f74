// Matrix boots virtual machines with Debian's kernels, lets pinfold doctor say in each what can be enforced, lets a rogue command
// try it, and compares the whole with testdata/matrix.txt, from which come the tables of README.md and docs/matrix.md.
//
//	make matrix                  four kernels, as root and in a login session: a minute or two
//	make matrix-all              every kernel, user, and layout of cgroups, with and without Landlock: six
//	make matrix GOLDEN=update    take what was seen for right
//
// The machines are emulated (qemu without KVM), so that the same command works in any virtual machine. Each boots from a kernel
// and a compressed file system in memory alone, no disk and no network; in each, one boot serves all users. Kernels and file
// system come from the Debian archive that apt uses here, and stay in pinfold-vm below the user's cache directory.
//
// Every attempt is made twice: without pinfold, as the control, and as a command of pinfold run. An attempt that succeeds in a
// dimension that pinfold calls enforced is a hole: it fails the command whatever the golden file says.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"sync"
	"syscall"
	"time"
)

func main() {
	var o options
	flag.BoolVar(&o.all, "all", false, "run the whole matrix, not the part that README.md shows")
	flag.BoolVar(&o.update, "update", false, "write the golden file and the tables")
	flag.StringVar(&o.only, "only", "", "run only the machines whose name matches `REGEXP`")
	flag.StringVar(&o.pinfold, "pinfold", "", "run the linux/amd64 program `FILE` instead of building one")
	flag.IntVar(&o.jobs, "jobs", 2, "how many machines run at the same time")
	flag.DurationVar(&o.timeout, "timeout", 15*time.Minute, "how long a machine may run")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "matrix:", err)
		stop()
		os.Exit(1)
	}
}

type options struct {
	all, update bool
	only        string
	pinfold     string
	jobs        int
	timeout     time.Duration
}

func run(ctx context.Context, o options) error {
	only, err := regexp.Compile(o.only)
	if err != nil {
		return err
	}
	wanted := machines(o.all, only)
	if len(wanted) == 0 {
		return fmt.Errorf("no machine's name matches %q", o.only)
	}
	work, err := os.MkdirTemp("", "pinfold-matrix-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	lab, err := prepare(ctx, work, o.pinfold, wanted)
	if err != nil {
		return err
	}
	lab.timeout = o.timeout
	columns, err := observeAll(ctx, lab, boots(wanted), o.jobs)
	if len(columns) > 0 {
		fmt.Printf("\n%s\n", tables(columns))
	}
	return errors.Join(err, judge(columns, o.update))
}

// observeAll boots every machine, jobs of them at a time, and goes on when one fails.
func observeAll(ctx context.Context, l *lab, boots []boot, jobs int) ([]column, error) {
	var mutex sync.Mutex
	var group sync.WaitGroup
	var columns []column
	var failures []error
	free := make(chan struct{}, max(jobs, 1))
	for _, b := range boots {
		free <- struct{}{}
		group.Go(func() {
			defer func() { <-free }()
			start := time.Now()
			seen, err := l.observe(ctx, b)
			mutex.Lock()
			defer mutex.Unlock()
			columns = append(columns, seen...)
			if err != nil {
				failures = append(failures, fmt.Errorf("%s: %w", b.name(), err))
			}
			fmt.Fprintf(os.Stderr, "%s: %d of %d users observed in %.0fs\n", b.name(), len(seen), len(b.users), time.Since(start).Seconds())
		})
	}
	group.Wait()
	sortColumns(columns)
	return columns, errors.Join(failures...)
}

// judge compares what was seen with the golden file, or rewrites that and the tables.
func judge(columns []column, update bool) error {
	var faults []error
	for _, c := range columns {
		for _, fault := range c.faults {
			faults = append(faults, fmt.Errorf("%s: %s", c.machine, fault))
		}
	}
	golden, err := readGolden(goldenFile)
	if err != nil {
		return errors.Join(append(faults, err)...)
	}
	if update {
		golden = merge(golden, columns)
		if err := writeGolden(goldenFile, golden); err != nil {
			return err
		}
		return errors.Join(append(faults, writePages(".", golden))...)
	}
	if difference := compare(golden, columns); difference != "" {
		faults = append(faults, fmt.Errorf("not what %s has (make matrix GOLDEN=update, if that is right):\n%s", goldenFile, difference))
	}
	return errors.Join(faults...)
}
