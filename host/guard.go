package host

import (
	"fmt"
	"path/filepath"
	"time"
)

// The tracker's process ends the sessions when the host's does. So while there
// are sessions it must run: a guard starts it again when it dies, and does not
// wait for the next call. What befell it is in the reports of those sessions.

// An Incident is something that happened to a session's backends.
type Incident struct {
	At time.Time `json:"at"`
	// What happened, in words.
	What string `json:"what"`
}

const (
	// A tracker that dies again before it has lived for steady is started after
	// a pause, which doubles from shortestPause to longestPause.
	steady        = 10 * time.Second
	shortestPause = 50 * time.Millisecond
	longestPause  = 5 * time.Second

	// maxIncidents is how many incidents a host remembers, the latest.
	maxIncidents = 64
)

// startGuard begins to guard the tracker. It is for the first session: a host
// without one starts nothing.
func (h *Host) startGuard() { h.guardOnce.Do(func() { go h.guard() }) }

// stopGuard ends the guard, whether it was started or not.
func (h *Host) stopGuard() {
	h.guardOnce.Do(func() { close(h.guardEnded) })
	select {
	case <-h.guardStop:
	default:
		close(h.guardStop)
	}
	<-h.guardEnded
}

func (h *Host) guard() {
	defer close(h.guardEnded)
	var pause time.Duration
	var died time.Time
	for {
		select {
		case <-h.trackerProcess.Deaths():
		case <-h.guardStop:
			return
		}
		if time.Since(died) > steady {
			pause = 0
		}
		died = time.Now()
		for h.needsTracker() {
			if !h.rest(pause) {
				return
			}
			pause = min(max(2*pause, shortestPause), longestPause)
			err := h.startTracker()
			if err == nil {
				h.note("the tracker's process ended, and was started again")
				break
			}
			h.note(fmt.Sprintf("the tracker's process ended, and cannot be started again: %v; "+
				"nothing ends the session now if this program is killed", err))
		}
	}
}

// startTracker starts the tracker. What cleans directories for temporary files
// may have removed the one for its socket.
func (h *Host) startTracker() error {
	if _, err := privateDir(filepath.Dir(h.sockets)); err != nil {
		return err
	}
	return h.trackerProcess.Start()
}

// rest pauses, and reports false if the guard is to end.
func (h *Host) rest(pause time.Duration) bool {
	if pause == 0 {
		return true
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-h.guardStop:
		return false
	}
}

// needsTracker reports whether there are sessions, or are about to be.
func (h *Host) needsTracker() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.opening+len(h.sessions) > 0
}

func (h *Host) note(what string) {
	h.options.Logger.Warn(what)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.incidents = append(h.incidents, Incident{At: time.Now(), What: what})
	if excess := len(h.incidents) - maxIncidents; excess > 0 {
		h.incidents = append([]Incident(nil), h.incidents[excess:]...)
	}
}

// incidentsBetween returns what happened in a session that was opened and closed
// at these times; closed is zero for one that is open.
func (h *Host) incidentsBetween(opened, closed time.Time) []Incident {
	h.mu.Lock()
	defer h.mu.Unlock()
	var list []Incident
	for _, i := range h.incidents {
		if i.At.After(opened) && (closed.IsZero() || i.At.Before(closed)) {
			list = append(list, i)
		}
	}
	return list
}
