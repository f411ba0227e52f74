package wire

import (
	"context"
	"math"

	"github.com/pinfold/pinfold/core"
	pb "github.com/pinfold/pinfold/core/backendpb"
)

// FromHandle returns the message for h.
func FromHandle(h core.Handle) *pb.Handle {
	return &pb.Handle{Session: h.Session.String(), Tracker: valid(h.Tracker), State: h.State, Data: h.Data}
}

// ToHandle returns the handle in m.
func ToHandle(m *pb.Handle) (core.Handle, error) {
	session, err := core.ParseSessionID(m.GetSession())
	if err != nil {
		return core.Handle{}, malformed("a handle: %v", err)
	}
	return core.Handle{Session: session, Tracker: m.Tracker, State: m.State, Data: m.Data}, nil
}

func fromOwner(o core.Owner) *pb.Owner {
	return &pb.Owner{Pid: int32(o.PID), Start: o.Start, Boot: valid(o.Boot)}
}

func toOwner(m *pb.Owner) (core.Owner, error) {
	if m.GetPid() <= 0 {
		return core.Owner{}, malformed("an owner lacks its pid")
	}
	return core.Owner{PID: int(m.Pid), Start: m.Start, Boot: m.Boot}, nil
}

// FromOpenRequest returns the message for r, with the features it depends on.
func FromOpenRequest(r *core.OpenRequest) *pb.OpenRequest {
	m := &pb.OpenRequest{
		Session: r.Session.String(), Owner: fromOwner(r.Owner),
		Limits: FromLimits(r.Limits), Detached: r.Detached, MoveOwner: r.MoveOwner,
	}
	if m.Limits != nil {
		m.RequiredFeatures = append(m.RequiredFeatures, core.FeatureSessionLimits)
	}
	if r.Detached {
		m.RequiredFeatures = append(m.RequiredFeatures, core.FeatureDetached)
	}
	if r.MoveOwner {
		m.RequiredFeatures = append(m.RequiredFeatures, core.FeatureMoveOwner)
	}
	return m
}

// ToOpenRequest returns the request in m. The required features are for the
// caller to check.
func ToOpenRequest(m *pb.OpenRequest) (*core.OpenRequest, error) {
	session, err := core.ParseSessionID(m.GetSession())
	if err != nil {
		return nil, malformed("%v", err)
	}
	owner, err := toOwner(m.GetOwner())
	if err != nil {
		return nil, err
	}
	return &core.OpenRequest{
		Session: session, Owner: owner, Limits: ToLimits(m.Limits), Detached: m.Detached, MoveOwner: m.MoveOwner,
	}, nil
}

// FromOpened returns the message for o, its files sent through files.
func FromOpened(o *core.Opened, files FileSender) (*pb.OpenResponse, error) {
	birth, err := FromBirth(&o.Birth, files)
	if err != nil {
		return nil, err
	}
	return &pb.OpenResponse{
		Handle:        FromHandle(o.Handle),
		Birth:         birth,
		Contributions: all(o.Contributions, fromContribution),
		Constraints:   all(o.Constraints, fromConstraint),
		Enforcement:   fromEnforcement(o.Enforcement),
	}, nil
}

// ToOpened returns the open session in m, its files taken from files. After an
// error no file is held.
func ToOpened(ctx context.Context, m *pb.OpenResponse, files FileTaker) (*core.Opened, error) {
	birth, err := ToBirth(ctx, m.GetBirth(), files)
	if err != nil {
		return nil, err
	}
	o := &core.Opened{Birth: birth}
	if err := fillOpened(o, m); err != nil {
		o.Birth.Close()
		return nil, err
	}
	return o, nil
}

func fillOpened(o *core.Opened, m *pb.OpenResponse) (err error) {
	if o.Handle, err = ToHandle(m.GetHandle()); err != nil {
		return err
	}
	if o.Contributions, err = each(m.GetContributions(), toContribution); err != nil {
		return err
	}
	if o.Constraints, err = each(m.GetConstraints(), toConstraint); err != nil {
		return err
	}
	o.Enforcement, err = toEnforcement(m.GetEnforcement())
	return err
}

// FromProcess returns the message for p.
func FromProcess(p core.Process) *pb.Process {
	return &pb.Process{Pid: int32(p.PID), Parent: int32(p.Parent), Command: []byte(p.Command)}
}

// ToProcess returns the process in m. A pid that is not one of a process, such
// as 0 or -1, which kill(2) takes for a group or for everybody, is an error.
func ToProcess(m *pb.Process) (core.Process, error) {
	if m.GetPid() <= 0 || m.Parent < 0 {
		return core.Process{}, malformed("%d, child of %d, is no process", m.GetPid(), m.GetParent())
	}
	return core.Process{PID: int(m.Pid), Parent: int(m.Parent), Command: string(m.Command)}, nil
}

// FromProcesses returns the messages for list.
func FromProcesses(list []core.Process) []*pb.Process { return all(list, FromProcess) }

// ToProcesses returns the processes in list.
func ToProcesses(list []*pb.Process) ([]core.Process, error) { return each(list, ToProcess) }

// FromKillReport returns the message for r, which may be nil.
func FromKillReport(r *core.KillReport) *pb.KillReport {
	if r == nil {
		return nil
	}
	return &pb.KillReport{
		Outcome: pb.Outcome(r.Outcome), Killed: clamp(r.Killed),
		Processes: FromProcesses(r.Processes), Survivors: FromProcesses(r.Survivors),
	}
}

// ToKillReport returns the report in m.
func ToKillReport(m *pb.KillReport) (*core.KillReport, error) {
	outcome := core.Outcome(m.GetOutcome())
	if !outcome.Valid() {
		return nil, unknownValue("outcome of a kill", int32(outcome))
	}
	processes, err := ToProcesses(m.Processes)
	if err != nil {
		return nil, err
	}
	survivors, err := ToProcesses(m.Survivors)
	if err != nil {
		return nil, err
	}
	return &core.KillReport{Outcome: outcome, Killed: int(m.Killed), Processes: processes, Survivors: survivors}, nil
}

// FromSessionStatus returns the message for s.
func FromSessionStatus(s core.SessionStatus) *pb.SessionStatus {
	return &pb.SessionStatus{
		Handle: FromHandle(s.Handle), Owner: fromOwner(s.Owner), OwnerAlive: s.OwnerAlive,
		Detached: s.Detached, Processes: clamp(s.Processes),
	}
}

// ToSessionStatus returns the status in m.
func ToSessionStatus(m *pb.SessionStatus) (core.SessionStatus, error) {
	handle, err := ToHandle(m.GetHandle())
	if err != nil {
		return core.SessionStatus{}, err
	}
	owner, err := toOwner(m.GetOwner())
	if err != nil {
		return core.SessionStatus{}, err
	}
	return core.SessionStatus{
		Handle: handle, Owner: owner, OwnerAlive: m.OwnerAlive,
		Detached: m.Detached, Processes: int(m.Processes),
	}, nil
}

// ToSessionStatuses returns the statuses in list.
func ToSessionStatuses(list []*pb.SessionStatus) ([]core.SessionStatus, error) {
	return each(list, ToSessionStatus)
}

// FromSessionStatuses returns the messages for list.
func FromSessionStatuses(list []core.SessionStatus) []*pb.SessionStatus {
	return all(list, FromSessionStatus)
}

// FromSweepReport returns the message for r.
func FromSweepReport(r *core.SweepReport) *pb.SweepResponse {
	return &pb.SweepResponse{
		Closed: FromSessionStatuses(r.Closed),
		Killed: clamp(r.Killed),
		Failed: all(r.Failed, func(f core.SweepFailure) *pb.SweepFailure {
			return &pb.SweepFailure{Session: FromSessionStatus(f.Session), Problem: valid(f.Problem)}
		}),
	}
}

// ToSweepReport returns the report in m.
func ToSweepReport(m *pb.SweepResponse) (*core.SweepReport, error) {
	closed, err := ToSessionStatuses(m.GetClosed())
	if err != nil {
		return nil, err
	}
	failed, err := each(m.GetFailed(), func(f *pb.SweepFailure) (core.SweepFailure, error) {
		session, err := ToSessionStatus(f.GetSession())
		return core.SweepFailure{Session: session, Problem: f.GetProblem()}, err
	})
	if err != nil {
		return nil, err
	}
	return &core.SweepReport{Closed: closed, Killed: int(m.GetKilled()), Failed: failed}, nil
}

func clamp(n int) uint32 { return uint32(min(max(n, 0), math.MaxInt32)) }
