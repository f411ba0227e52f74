package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// section is one thing that vm/guest-run.sh sent.
type section struct {
	data   []byte
	status int // the exit status of the command that made it
}

// readFrames reads what came through the serial port of results:
//
//	@NONCE begin NAME
//	base64, in lines
//	@NONCE end NAME STATUS
//	@NONCE done
//
// A line without the nonce of this boot is no frame: not between frames, where it is passed over, and not within one, where it
// spoils the data. The error says what is missing; what is complete is returned nevertheless.
func readFrames(text, nonce string) (map[string]section, error) {
	sections := map[string]section{}
	name, data := "", ""
	for line := range strings.Lines(strings.ReplaceAll(text, "\r", "")) {
		line = strings.TrimSpace(line)
		frame, ok := strings.CutPrefix(line, "@"+nonce+" ")
		if !ok {
			data += line
			continue
		}
		words := strings.Fields(frame)
		switch {
		case len(words) == 1 && words[0] == "done" && name == "":
			return sections, nil
		case len(words) == 2 && words[0] == "begin" && name == "":
			name, data = words[1], ""
		case len(words) == 3 && words[0] == "end" && name != "" && name == words[1]:
			status, err := strconv.Atoi(words[2])
			if err != nil {
				return sections, fmt.Errorf("results: %w", err)
			}
			decoded, err := base64.StdEncoding.DecodeString(data)
			if err != nil {
				return sections, fmt.Errorf("results: %s: %w", name, err)
			}
			if _, ok := sections[name]; ok {
				return sections, fmt.Errorf("results: %s came twice", name)
			}
			sections[name], name = section{decoded, status}, ""
		default:
			return sections, fmt.Errorf("results: %q has no place here", frame)
		}
	}
	return sections, errors.New("the machine ended without saying that it was done")
}
