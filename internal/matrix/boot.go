package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/pinfold/pinfold/internal/matrix/trial"
)

// perUser is how long one user's observation may take in the machine.
const perUser = 5 * time.Minute

// observe boots a machine and returns a column for each user of whom there is an observation; the error is about the others.
//
// A machine that ends before anything of this program ran in it is booted once more: an emulated kernel panics at its start now
// and then (seen with 6.12), which says nothing about Pinfold. A second time is an error.
func (l *lab) observe(ctx context.Context, b boot) ([]column, error) {
	columns, began, err := l.observeOnce(ctx, b)
	if !began && ctx.Err() == nil {
		fmt.Fprintf(os.Stderr, "matrix: Linux %s did not come up, once more: %v\n", b.machine.kernel, err)
		columns, _, err = l.observeOnce(ctx, b)
	}
	return columns, err
}

// observeOnce boots once, and reports whether the machine came as far as the first user.
func (l *lab) observeOnce(ctx context.Context, b boot) (columns []column, began bool, err error) {
	dir, err := os.MkdirTemp(l.work, "boot-")
	if err != nil {
		return nil, false, err
	}
	defer os.RemoveAll(dir)
	nonce := rand.Text()
	if err := l.writeInitrd(filepath.Join(dir, "initrd"), nonce, b.users); err != nil {
		return nil, false, err
	}
	ended := l.emulate(ctx, dir, b.machine)
	results, err := os.ReadFile(filepath.Join(dir, "results"))
	if err != nil {
		return nil, false, errors.Join(ended, err)
	}
	sections, err := readFrames(string(results), nonce)
	if err != nil {
		ended = errors.Join(ended, err)
	}
	for _, user := range b.users {
		o, err := observation(sections, user)
		if err != nil {
			ended = errors.Join(ended, fmt.Errorf("as %s: %w", user, err))
			continue
		}
		c, err := newColumn(b.as(user), o)
		if err != nil {
			ended = errors.Join(ended, fmt.Errorf("as %s: %w", user, err))
			continue
		}
		columns = append(columns, c)
	}
	if ended != nil {
		ended = fmt.Errorf("%w\nthe end of the console:\n%s", ended, tail(filepath.Join(dir, "console"), 25))
	}
	return columns, strings.Contains(string(results), "@"+nonce+" "), ended
}

func observation(sections map[string]section, user string) (*trial.Observation, error) {
	output, ok := sections[user+"/output"]
	if !ok {
		return nil, errors.New("the machine ended before there was a result")
	}
	var o trial.Observation
	errorOutput := sections[user+"/errors"].data
	if output.status != 0 {
		return nil, fmt.Errorf("exit status %d instead of an observation: %s", output.status, errorOutput)
	}
	if err := json.Unmarshal(output.data, &o); err != nil {
		return nil, fmt.Errorf("the observation %q: %w: %s", output.data, err, errorOutput)
	}
	return &o, nil
}

// writeInitrd puts the content of this boot before the root file system: the kernel unpacks one archive after the other.
func (l *lab) writeInitrd(path, nonce string, users []string) error {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer out.Close()
	w := &archiveWriter{out: out}
	job := fmt.Sprintf("nonce=%s\nusers='%s'\npatience=%.0f\n", nonce, strings.Join(users, " "), perUser.Seconds())
	w.file("vm/job", 0o600, []byte(job))
	for name, source := range l.content {
		text, err := os.ReadFile(source)
		if err != nil {
			return err
		}
		w.file(name, 0o755, text)
	}
	if err := w.close(); err != nil {
		return err
	}
	rootfs, err := os.Open(l.rootfs)
	if err != nil {
		return err
	}
	defer rootfs.Close()
	if _, err := io.Copy(out, rootfs); err != nil {
		return err
	}
	return out.Close()
}

// emulate runs a machine until it switches itself off. The first serial port is the console, the second carries the results.
func (l *lab) emulate(ctx context.Context, dir string, m machine) error {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	cmdline := []string{"console=ttyS0 quiet loglevel=3 panic=-1 mitigations=off random.trust_cpu=on rdinit=/init",
		"systemd.show_status=false systemd.log_level=err", parameters[m.lsm]}
	if m.cgroups == pure {
		cmdline = append(cmdline, "systemd.unified_cgroup_hierarchy=1")
	} else {
		cmdline = append(cmdline, parameters[m.cgroups])
	}
	// Not KVM where there is some: nested and paravirtual ones do not start every kernel, and emulation is fast enough.
	cmd := exec.CommandContext(ctx, "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "640",
		"-nodefaults", "-display", "none", "-no-reboot",
		"-kernel", filepath.Join(l.kernels, m.kernel, "vmlinuz"), "-initrd", filepath.Join(dir, "initrd"),
		"-append", strings.Join(cmdline, " "),
		"-serial", "file:"+filepath.Join(dir, "console"), "-serial", "file:"+filepath.Join(dir, "results"))
	out, err := cmd.CombinedOutput()
	if ctx.Err() == context.DeadlineExceeded {
		return fmt.Errorf("the machine still ran after %v", l.timeout)
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %s", cmd.Path, err, out)
	}
	return nil
}

// tail returns the last lines of a file.
func tail(path string, lines int) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	all := bytes.Split(bytes.TrimSpace(bytes.ReplaceAll(text, []byte("\r"), nil)), []byte("\n"))
	return string(bytes.Join(all[max(0, len(all)-lines):], []byte("\n")))
}
