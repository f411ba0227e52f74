package cgroup

import (
	"fmt"
	"net/url"
	"path"
	"strings"
)

// surroundings are what a process is told about its user's service manager.
type surroundings struct {
	uid int
	// busAddress and runtimeDir are $DBUS_SESSION_BUS_ADDRESS and
	// $XDG_RUNTIME_DIR, which a login sets (pam_systemd(8)).
	busAddress, runtimeDir string
	exists                 func(path string) bool
}

// buses returns the sockets of the user's message bus, as names for connect(2)
// with a leading @ for an abstract one, the likelier first.
func (s surroundings) buses() []string {
	var all []string
	for address := range strings.SplitSeq(s.busAddress, ";") {
		if socket := unixSocket(address); socket != "" {
			all = append(all, socket)
		}
	}
	if path.IsAbs(s.runtimeDir) {
		usual := path.Join(s.runtimeDir, "bus")
		if s.exists(usual) && (len(all) == 0 || all[0] != usual) {
			all = append(all, usual)
		}
	}
	return all
}

// unixSocket returns the socket of a D-Bus address such as
// unix:path=/run/user/1000/bus,guid=0123, or "" if it is not one that is reached
// by name (D-Bus Specification, "Server Addresses").
func unixSocket(address string) string {
	keys, ok := strings.CutPrefix(address, "unix:")
	if !ok {
		return ""
	}
	for pair := range strings.SplitSeq(keys, ",") {
		key, value, _ := strings.Cut(pair, "=")
		value, err := url.PathUnescape(value)
		switch {
		case err != nil || value == "":
		case key == "path" && path.IsAbs(value):
			return value
		case key == "abstract":
			return "@" + value
		}
	}
	return ""
}

// absence says why buses returned none, and what to do about it.
func (s surroundings) absence() scopeRefusal {
	home := fmt.Sprintf("/run/user/%d", s.uid)
	switch {
	case s.runtimeDir == "" && s.busAddress == "" && s.exists(home+"/bus"):
		return scopeRefusal{
			why:    "neither DBUS_SESSION_BUS_ADDRESS nor XDG_RUNTIME_DIR is set, as after su or sudo, although a user manager runs",
			remedy: "set XDG_RUNTIME_DIR=" + home,
		}
	case s.runtimeDir != "" && s.exists(path.Join(s.runtimeDir, "systemd")):
		return scopeRefusal{
			why:    fmt.Sprintf("a user manager runs, but its message bus is not at %q", path.Join(s.runtimeDir, "bus")),
			remedy: "install the user's message bus (Debian: dbus-user-session) and log in again",
		}
	case s.exists(home):
		return scopeRefusal{
			why:    "no message bus of the user's service manager was found",
			remedy: "set XDG_RUNTIME_DIR=" + home + ", and install the user's message bus (Debian: dbus-user-session) if there is none",
		}
	}
	return scopeRefusal{
		why: "no service manager runs for this user",
		remedy: fmt.Sprintf("log in by ssh or at a terminal; or have root run: loginctl enable-linger %d, and set XDG_RUNTIME_DIR=%s",
			s.uid, home),
	}
}

// notPermitted is the answer where the owner may not be moved.
func (s surroundings) notPermitted() *scopeRefusal {
	const permit = "permit it (MoveHost in the host's options, which pinfold run sets)"
	why := "the host application does not permit to be moved"
	if len(s.buses()) == 0 {
		absence := s.absence()
		return &scopeRefusal{why: why + ", and " + absence.why, remedy: absence.remedy + "; then " + permit}
	}
	return &scopeRefusal{why: why, remedy: permit +
		"; or start the program by systemd-run --user --scope -p Delegate=yes PROGRAM"}
}

// A scopeRefusal says why a host is not given a scope of systemd.
type scopeRefusal struct {
	why    string
	remedy string // "" if there is none but another way to run the program
	err    error
}

func (r *scopeRefusal) Error() string {
	if r.err != nil {
		return r.why + ": " + r.err.Error()
	}
	return r.why
}

func (r *scopeRefusal) Unwrap() error { return r.err }
