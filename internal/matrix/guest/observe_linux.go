package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/pinfold/pinfold/internal/matrix/trial"
)

// patience is how long one command may take. It is an emergency brake: emulation on a busy machine is slow.
const patience = 4 * time.Minute

// observe makes all runs. Nothing of the machine needs to be left as it was, except between the runs.
func observe(pinfold string) (*trial.Observation, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(home, "matrix-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	servers, err := serve(dir)
	if err != nil {
		return nil, err
	}
	defer servers.close()

	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return nil, err
	}
	o := &trial.Observation{Release: strings.TrimSpace(string(release))}
	if o.Doctor, err = doctor(pinfold); err != nil {
		return nil, err
	}
	try := func(name string, prefix ...string) (trial.Run, error) {
		p, err := newPlace(filepath.Join(dir, name), servers)
		if err != nil {
			return trial.Run{}, err
		}
		defer p.close()
		return p.run(prefix)
	}
	if o.Control, err = try("control"); err != nil {
		return nil, err
	}
	// From a login session no cgroup of the user can be joined, but pinfold has the service manager move it to where they can.
	// There, then, is the control for leaving one.
	if o.Control.Outcomes["cgroup"] != "" {
		run, err := try("control-in-scope", "systemd-run", "--user", "--scope", "--quiet", "--property=Delegate=yes")
		if err != nil {
			return nil, err
		}
		if failure, made := run.Outcomes["cgroup"]; made && failure == "" {
			o.Control.Outcomes["cgroup"] = ""
		}
	}
	if o.Default, err = try("default", pinfold, "run", "--quiet", "--"); err != nil {
		return nil, err
	}
	if o.Default.Outcomes == nil {
		run, err := try("best-effort", pinfold, "run", "--quiet", "--best-effort", "--")
		if err != nil {
			return nil, err
		}
		o.BestEffort = &run
	}
	return o, nil
}

// doctor exits with 1 where the default preset is refused, which is an answer too.
func doctor(pinfold string) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, pinfold, "doctor", "--json")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if !json.Valid(out) {
		return nil, fmt.Errorf("pinfold doctor --json printed no JSON: %w: %s%s", err, out, stderr.String())
	}
	return out, nil
}

// run lets the rogue command make its attempts, started by the words of prefix, and says which succeeded.
func (p *place) run(prefix []string) (trial.Run, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	args := append(append([]string{}, prefix...), "./rogue", "attempt")
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = p.workspace
	targets, err := json.Marshal(p.targets)
	if err != nil {
		return trial.Run{}, err
	}
	if err := os.WriteFile(filepath.Join(p.workspace, targetsFile), targets, 0o644); err != nil {
		return trial.Run{}, err
	}
	cmd.Env = append(os.Environ(), secretVariable+"=hunter2")
	leaked, err := os.Open(p.targets.Secret)
	if err != nil {
		return trial.Run{}, err
	}
	defer leaked.Close()
	cmd.ExtraFiles = []*os.File{leaked}
	terminal, err := newTerminal()
	if err != nil {
		return trial.Run{}, err
	}
	defer terminal.close()
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal.slave, &stdout, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	cmd.WaitDelay = patience
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		return trial.Run{}, fmt.Errorf("%q: %w, %w: %s", args, err, ctx.Err(), stderr.String())
	}
	run := trial.Run{Status: cmd.ProcessState.ExitCode()}
	if stdout.Len() == 0 {
		run.Refused = strings.TrimSpace(stderr.String())
		return run, p.killDaemons(nil)
	}
	if err := json.Unmarshal(stdout.Bytes(), &run.Outcomes); err != nil {
		return trial.Run{}, fmt.Errorf("%q printed %q: %w: %s", args, stdout.String(), err, stderr.String())
	}
	return run, p.killDaemons(run.Outcomes)
}
