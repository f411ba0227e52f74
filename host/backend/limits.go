package backend

import "time"

// limits bound what a backend may keep its host waiting for. They bound a hang:
// a start takes some milliseconds and an answer normally well under one.
type limits struct {
	// start is from the fork to the connection.
	start time.Duration
	// end is how long a backend may take to finish its calls.
	end time.Duration

	describe, probe, plan, open, verify, list time.Duration
	// kill is for Kill and Close, which wait for processes to die, and sweep
	// for what does so for many sessions.
	kill, sweep time.Duration
}

var usualLimits = limits{
	start: 5 * time.Second,
	end:   6 * time.Second,

	describe: 2 * time.Second,
	probe:    10 * time.Second,
	plan:     10 * time.Second,
	open:     5 * time.Second,
	verify:   2 * time.Second,
	list:     10 * time.Second,
	kill:     15 * time.Second,
	sweep:    60 * time.Second,
}

// epitaphLimit is how long a failure waits for the backend's end and its last
// words, so as to tell of them.
const epitaphLimit = 2 * time.Second

// endNotice is how long after its connection a process that ends has certainly
// ended. A process that lives on has another trouble.
const endNotice = time.Second
