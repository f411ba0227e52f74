//go:build unix

// Tour shows pinfold at work on something real: a confined build of this
// repository, then a hostile script, first unconfined and then confined. It
// fails if the script fails unconfined, for then it proves nothing, or gets
// through confined.
//
//	make run
package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

//go:embed hostile.sh
var hostile []byte

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "tour:", err)
		os.Exit(1)
	}
}

func run() error {
	pinfold := os.Getenv("PINFOLD")
	if pinfold == "" {
		pinfold = "pinfold"
	}
	say("What this machine can enforce")
	// Its status says whether strict mode would refuse; the next step shows it.
	show(exec.Command(pinfold, "doctor")).Run()

	say("A confined build of this repository: the workspace and Go's caches, no network")
	if err := build(pinfold); err != nil {
		return fmt.Errorf("the confined build failed: %w", err)
	}
	fmt.Println("built")

	scene, err := newScene()
	if err != nil {
		return err
	}
	defer scene.remove()
	say("A hostile script, unconfined: everything succeeds, and a daemon stays")
	if err := scene.unconfined(); err != nil {
		return err
	}
	say("The same script under pinfold")
	return scene.confined(pinfold)
}

// build builds this repository confined.
func build(pinfold string) error {
	args := []string{"run", "--quiet"}
	for flag, name := range map[string]string{"--write": "GOCACHE", "--read": "GOMODCACHE", "--exec": "GOROOT"} {
		path, err := exec.Command("go", "env", name).Output()
		if err != nil {
			return err
		}
		args = append(args, flag, strings.TrimSpace(string(path)))
	}
	return show(exec.Command(pinfold, append(args, "--env", "GOFLAGS=-buildvcs=false", "--", "go", "build", "./...")...)).Run()
}

// show prints a command and connects it to this program's output.
func show(c *exec.Cmd) *exec.Cmd {
	fmt.Printf("$ %s\n", strings.Join(append([]string{filepath.Base(c.Path)}, c.Args[1:]...), " "))
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	return c
}

func say(title string) { fmt.Printf("\n== %s\n\n", title) }

// report is the part of pinfold's JSON report that the tour looks at.
type report struct {
	Left struct {
		Outcome   string
		Killed    int
		Processes []struct {
			PID     int
			Command string
		}
	}
}

func readReport(path string) (*report, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := &report{}
	return r, json.Unmarshal(data, r)
}

// confined runs the script under pinfold and holds it to what must happen.
func (s *scene) confined(pinfold string) error {
	reportFile := filepath.Join(s.dir, "report.json")
	c := exec.Command(pinfold, append([]string{"run", "--workspace", s.workspace, "--report", reportFile, "--", s.script}, s.args("confined")...)...)
	c.Dir, c.Env = s.workspace, s.environment()
	out, err := s.run(c)
	if err != nil {
		return err
	}
	if strings.Contains(out, "succeeded:") || strings.Count(out, "refused:") != attempts {
		return errors.New("an attempt got through")
	}
	if text, err := os.ReadFile(s.outside); err != nil || string(text) != untouched {
		return fmt.Errorf("the file outside was changed: %q, %v", text, err)
	}
	r, err := readReport(reportFile)
	if err != nil {
		return err
	}
	if alive := s.daemons("confined"); len(alive) > 0 {
		return fmt.Errorf("the daemon is still alive: %v", alive)
	}
	if r.Left.Killed == 0 {
		return errors.New("no daemon was found")
	}
	fmt.Printf("\nthe report says: %d left running and killed, %s:", r.Left.Killed, r.Left.Outcome)
	for _, p := range r.Left.Processes {
		fmt.Printf(" %s (pid %d)", p.Command, p.PID)
	}
	fmt.Println("\nevery attempt was refused, and the daemon is dead")
	return nil
}

func (s *scene) args(daemon string) []string {
	return []string{s.secret, s.outside, strconv.Itoa(s.port), s.daemonName(daemon)}
}
