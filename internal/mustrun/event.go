package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// event is one line of go test -json, described by "go doc test2json" and, for the build actions, by "go help buildjson".
type event struct {
	Action      string
	Package     string
	Test        string
	Output      string
	ImportPath  string // of build-output and build-fail, instead of Package
	FailedBuild string // of a package's fail, the ImportPath of the build that failed
}

// readEvents calls handle for every event of r in order, and stray for every line that is not an event: something that got
// past go test's conversion and that a reader of the log should see.
func readEvents(r io.Reader, handle func(event), stray func(line string)) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			var e event
			if json.Unmarshal(line, &e) == nil && e.Action != "" {
				handle(e)
			} else {
				stray(string(line))
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the output of go test: %w", err)
		}
	}
}
