package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	list := flag.String("list", "", "`file` with the tests that must run and pass")
	flag.Parse()
	if flag.NArg() != 0 {
		fmt.Fprintln(os.Stderr, "usage: go test -json ./... | mustrun [-list FILE]")
		os.Exit(2)
	}
	ok, err := report(os.Stdin, os.Stdout, *list)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mustrun:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// report copies a run from in to out as a log and tells whether it passed and, when list is not empty, met that list.
func report(in io.Reader, out io.Writer, list string) (bool, error) {
	var entries []entry
	if list != "" {
		file, err := os.Open(list)
		if err != nil {
			return false, err
		}
		defer file.Close()
		if entries, err = readList(list, file); err != nil {
			return false, err
		}
	}

	j := newJournal(out)
	if err := readEvents(in, j.handle, j.print); err != nil {
		return false, err
	}
	ok := j.finish()
	for _, violation := range j.violations(list, entries) {
		ok = false
		fmt.Fprintln(out, "must run:", violation)
	}
	return ok, nil
}
