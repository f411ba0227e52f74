package cgroup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/core/owner"
)

// Programs that are hosts or trackers themselves.

func asHost(mode string, args []string) {
	switch mode {
	case "owner":
		asOwner()
	case "host":
		say("ready")
		openAs(args[0], false)
		openAs(args[1], true)
		pause()
	case "host-gone":
		must(New().HostGone(ctx))
		say("ready")
		pause()
	case "inside":
		say("ready")
		moveInside(args[0])
		pause()
	case "moved":
		say("ready")
		must(os.WriteFile(filepath.Join(args[2], "cgroup.procs"), []byte("0"), 0))
		asUser(args[0], args[1])
		os.Exit(0)
	case "forger":
		say("ready")
		forgeByMount(args[0], args[1])
		os.Exit(0)
	case "user":
		say("ready")
		asUser(args[0], args[1])
		os.Exit(0)
	}
}

// openAs opens a session with a process in it, and says its handle.
func openAs(id string, detached bool) *core.Opened {
	session, err := core.ParseSessionID(id)
	must(err)
	self, err := owner.Self()
	must(err)
	o, err := New().Open(ctx, &core.OpenRequest{Session: session, Owner: self, Detached: detached, MoveOwner: os.Getenv(moveKey) != ""})
	must(err)
	must(inside(o, "sleep").Start())
	text, err := json.Marshal(o.Handle)
	must(err)
	say(string(text))
	return o
}

func inside(o *core.Opened, mode string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", string(o.Handle.Data))
	cmd.Env = append(os.Environ(), modeKey+"="+mode)
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(o.Birth.Cgroup.Fd())}
	return cmd
}

// moveInside moves the tracker into its own session and has it closed.
func moveInside(id string) {
	o := openAs(id, false)
	must(os.WriteFile(filepath.Join(string(o.Handle.Data), "cgroup.procs"), []byte("0"), 0))
	report, err := New().Close(ctx, o.Handle)
	switch {
	case errors.Is(err, core.ErrSurvivors) && report.Killed == 1 && len(report.Survivors) == 1 && report.Survivors[0].PID == os.Getpid():
		say("survivors")
	default:
		say(fmt.Sprintf("%+v, %v", report, err))
	}
}

// asUser goes through a session's life with a program of some mode in it, and
// says how far it got.
func asUser(id, mode string) {
	session, err := core.ParseSessionID(id)
	must(err)
	self, err := owner.Self()
	must(err)
	tr := New(KillTimeout(watchdog))
	o, err := tr.Open(ctx, &core.OpenRequest{Session: session, Owner: self})
	if err != nil {
		var e *core.Error
		errors.As(err, &e)
		say(fmt.Sprintf("%s %d %s", e.Reason, e.Errno, e.Path))
		say(err.Error())
		return
	}
	cmd := inside(o, mode)
	out, err := cmd.StdoutPipe()
	must(err)
	must(cmd.Start())
	must(tr.Verify(ctx, o.Handle, cmd.Process.Pid))
	_, err = io.ReadFull(out, make([]byte, len(readyLine)))
	must(err)
	all, err := tr.Sessions(ctx)
	must(err)
	report, err := tr.Kill(ctx, o.Handle)
	must(err)
	cmd.Wait()
	_, err = tr.Close(ctx, o.Handle)
	must(err)
	say(fmt.Sprintf("%d session, %v, %d killed", len(all), report.Outcome, report.Killed))
	say(string(o.Handle.Data))
}

// forgeByMount mounts somebody's cgroup under the name of a session and asks
// for that session to be killed. It runs in a mount namespace of its own.
func forgeByMount(victim, tmp string) {
	self, err := owner.Self()
	must(err)
	tr := New()
	_, err = tr.Sessions(ctx) // so that the mounts are known before they change
	must(err)
	name, err := newLeafName(&core.OpenRequest{Session: core.NewSessionID(), Owner: self}, tr.uid, tr.view)
	must(err)
	forged := filepath.Join(tmp, name.String())
	must(os.Mkdir(forged, 0o755))
	must(syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""))
	must(syscall.Mount(victim, forged, "", syscall.MS_BIND, ""))
	report, err := tr.Kill(ctx, handleOf(name, forged))
	say(fmt.Sprintf("%v %v", report, errors.Is(err, core.ErrInvalidRequest)))
	// The same without looking at the mounts, by the open directory alone.
	l := &leaf{path: forged, name: name}
	l.fd, err = openDirectory(unix.AT_FDCWD, forged, unix.O_PATH)
	must(err)
	say(fmt.Sprint(l.check(tr.uid)))
}
