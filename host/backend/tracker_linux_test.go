package backend

import (
	"context"
	"fmt"
	"syscall"

	"github.com/pinfold/pinfold/core"
)

// scriptedTracker is a tracker that obeys the data of the handle.
type scriptedTracker struct{ scripted }

// Open makes a session with a file for a cgroup.
func (s *scriptedTracker) Open(_ context.Context, request *core.OpenRequest) (*core.Opened, error) {
	plan, err := s.file()
	if err != nil {
		return nil, err
	}
	return &core.Opened{
		Handle: handle(request.Session, "ok"), Birth: core.Birth{Cgroup: plan.Birth.Landlock[0].File},
		Constraints: []core.Constraint{{Kind: core.NoConnect, Path: "/run/bus", Why: "because"}},
	}, nil
}

// Verify knows one process.
func (s *scriptedTracker) Verify(_ context.Context, _ core.Handle, pid int) error {
	if pid != 1 {
		return &core.Error{Reason: core.ErrNotMember, Stage: core.StageVerify, Detail: fmt.Sprintf("process %d is not in the session", pid)}
	}
	return nil
}

// List returns as many processes as the state says.
func (s *scriptedTracker) List(_ context.Context, h core.Handle) ([]core.Process, error) {
	var list []core.Process
	for i := range int(h.State) {
		list = append(list, core.Process{PID: i + 1, Parent: i, Command: "a\xffb"})
	}
	return list, nil
}

// Kill obeys the handle's data.
func (s *scriptedTracker) Kill(ctx context.Context, h core.Handle) (*core.KillReport, error) {
	switch string(h.Data) {
	case "survivors":
		return &core.KillReport{Outcome: core.GaveUp, Killed: 2, Survivors: []core.Process{{PID: 7, Parent: 1, Command: "hydra"}}},
			&core.Error{Reason: core.ErrSurvivors, Stage: core.StageKill, Detail: "one process outlived every attempt"}
	case "hang":
		block()
	case "deadline":
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &core.KillReport{Outcome: core.ProvedEmpty}, nil
}

// Close is Kill.
func (s *scriptedTracker) Close(ctx context.Context, h core.Handle) (*core.KillReport, error) {
	return s.Kill(ctx, h)
}

// Sessions returns more than fit into a page.
func (s *scriptedTracker) Sessions(context.Context) ([]core.SessionStatus, error) {
	var list []core.SessionStatus
	for i := range 5000 {
		list = append(list, core.SessionStatus{
			Handle: handle(core.NewSessionID(), "x"), Owner: core.Owner{PID: i + 1, Start: 1, Boot: "b"}, Processes: i,
		})
	}
	return list, nil
}

// Sweep could not close one.
func (s *scriptedTracker) Sweep(context.Context) (*core.SweepReport, error) {
	status := core.SessionStatus{Handle: handle(core.NewSessionID(), "x"), Owner: core.Owner{PID: 1}}
	return &core.SweepReport{Killed: 3, Failed: []core.SweepFailure{{Session: status, Problem: syscall.EBUSY.Error()}}}, nil
}

func handle(id core.SessionID, data string) core.Handle {
	return core.Handle{Session: id, Tracker: "scripted", State: 1, Data: []byte(data)}
}
