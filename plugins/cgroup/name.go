package cgroup

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/pinfold/pinfold/core"
)

// A leafName is what the name of a session's cgroup says:
//
//	pinfold-UID-PID-START-PIDNS-TIMENS-BOOT-SESSION[-detached]
//
// UID is the user of the tracker, PID, START and BOOT are the owner's. PIDNS and TIMENS are the inode numbers of
// the namespaces in which PID and START have meaning (namespaces(7)). The
// longest name is 171 bytes of the 255 that a name may have.
//
// A later format gets another prefix than "pinfold-": a tracker that does not
// know it leaves such a cgroup alone.
type leafName struct {
	uid      uint32
	owner    core.Owner
	view     view
	session  core.SessionID
	detached bool
}

// A view is the pair of namespaces that a process sees others through. The
// zero value of either stands for a kernel without that kind of namespace.
type view struct{ pidNS, timeNS uint64 }

const (
	leafPrefix     = "pinfold"
	detachedSuffix = "-detached"
	leafFields     = 8 // the last one is the session, which has dashes of its own
)

func (n leafName) String() string {
	s := fmt.Sprintf("%s-%d-%d-%d-%d-%d-%s-%s", leafPrefix, n.uid, n.owner.PID, n.owner.Start, n.view.pidNS, n.view.timeNS,
		strings.ReplaceAll(n.owner.Boot, "-", ""), n.session)
	if n.detached {
		s += detachedSuffix
	}
	return s
}

// parseLeafName parses a name that String printed, and nothing else.
func parseLeafName(s string) (leafName, bool) {
	fields := strings.SplitN(s, "-", leafFields)
	if len(fields) != leafFields || fields[0] != leafPrefix {
		return leafName{}, false
	}
	var n leafName
	var numbers [5]uint64
	for i := range numbers {
		number, err := strconv.ParseUint(fields[i+1], 10, 64)
		if err != nil {
			return leafName{}, false
		}
		numbers[i] = number
	}
	if numbers[0] > math.MaxUint32 || numbers[1] < 1 || numbers[1] > maxPID {
		return leafName{}, false
	}
	n.uid = uint32(numbers[0])
	n.owner.PID, n.owner.Start = int(numbers[1]), numbers[2]
	n.view = view{pidNS: numbers[3], timeNS: numbers[4]}

	boot, err := uuid.Parse(fields[6])
	if err != nil {
		return leafName{}, false
	}
	n.owner.Boot = boot.String()

	var session string
	session, n.detached = strings.CutSuffix(fields[7], detachedSuffix)
	if n.session, err = core.ParseSessionID(session); err != nil {
		return leafName{}, false
	}
	// The numbers and the boot id have other spellings; only one is ours.
	return n, n.String() == s
}

// belongsTo reports whether a cgroup of this name that the kernel says is of
// user owner is a session of user uid.
//
// For root the name is enough. A process of root that is confined by Landlock
// cannot write to its cgroup, but it can give it away (chown(2)), and must not
// get out of reach by that; a cgroup's name cannot be changed. Another user who
// takes root's name for a cgroup gains that root may end what is in it.
func (n leafName) belongsTo(uid int, owner uint32) bool {
	return owner == uint32(uid) || uid == 0 && n.uid == 0
}

// maxPID is above every pid: PID_MAX_LIMIT is 4 Mi on 64-bit Linux
// (proc_sys_kernel(5)).
const maxPID = 1<<31 - 1

// newLeafName returns the name for a session, or an error if the request cannot
// be expressed in one.
func newLeafName(req *core.OpenRequest, uid int, v view) (leafName, error) {
	n := leafName{uid: uint32(uid), owner: req.Owner, view: v, session: req.Session, detached: req.Detached}
	if parsed, ok := parseLeafName(n.String()); !ok || parsed != n {
		return leafName{}, &core.Error{
			Reason:  core.ErrInvalidRequest,
			Stage:   core.StageOpen,
			Backend: Name,
			Detail:  fmt.Sprintf("the owner %+v is not a process of this machine", req.Owner),
		}
	}
	return n, nil
}
