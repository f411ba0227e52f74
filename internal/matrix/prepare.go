package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// scripts is where the shell scripts are, seen from the root of the repository, in which this program runs.
const scripts = "internal/matrix/vm"

// image is the name of the root file system. It changes with what vm/rootfs-content.sh puts in.
const image = "bookworm.cpio.zst"

// lab is what machines are made of.
type lab struct {
	kernels string // a directory with one for each series
	rootfs  string
	content map[string]string // files to put into the machine, by their path in it
	work    string            // for temporary files
	timeout time.Duration     // for a machine, from its start to its end
}

// prepare installs what is missing, fetches kernels and makes the root file system if the cache has none, and builds the
// programs that go into the machines; pinfold only if it is "", and no program already.
func prepare(ctx context.Context, work, pinfold string, machines []machine) (*lab, error) {
	if _, err := os.Stat(scripts); err != nil {
		return nil, fmt.Errorf("run this by make matrix, in the root of the repository: %w", err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	cache = filepath.Join(cache, "pinfold-vm")
	l := &lab{kernels: filepath.Join(cache, "kernels"), rootfs: filepath.Join(cache, "rootfs", image), work: work}
	var series []string
	for _, m := range machines {
		if !slices.Contains(series, m.kernel) {
			series = append(series, m.kernel)
		}
	}
	for _, args := range [][]string{
		{"need.sh"},
		append([]string{"kernels.sh", l.kernels}, series...),
		{"rootfs.sh", l.rootfs},
	} {
		args[0] = filepath.Join(scripts, args[0])
		if err := execute(ctx, nil, args...); err != nil {
			return nil, err
		}
	}
	l.content = map[string]string{"vm/guest-run": filepath.Join(scripts, "guest-run.sh")}
	packages := map[string]string{"guest": "./internal/matrix/guest"}
	if pinfold != "" {
		l.content["vm/bin/pinfold"] = pinfold
	} else {
		packages["pinfold"] = "./cmd/pinfold"
	}
	for name, pkg := range packages {
		program := filepath.Join(work, name)
		l.content["vm/bin/"+name] = program
		environment := []string{"CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64"}
		if err := execute(ctx, environment, "go", "build", "-trimpath", "-o", program, pkg); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func execute(ctx context.Context, environment []string, args ...string) error {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), environment...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(args, " "), err)
	}
	return nil
}
