// Command pinfold runs commands in sessions: confined as a policy says, and
// every process of them killed at the end.
package main

import "os"

func main() {
	// A backend is started many times and answers a host that waits for it, so it
	// is served before anything else is prepared.
	if len(os.Args) == 3 && os.Args[1] == "backend" {
		if serve := embedded[os.Args[2]]; serve != nil {
			serve()
			return
		}
	}
	os.Exit(execute(os.Args[1:]))
}
