//go:build amd64 || arm64

package birth

import (
	"encoding/binary"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
)

// capabilitySets are the capability sets that a child starts out with, but for
// the ambient one: capset(2) takes from that whatever it takes from permitted or
// inheritable (cap_capset in security/commoncap.c).
type capabilitySets struct {
	effective, permitted, inheritable, bounding uint64
}

// capabilities drops capabilities. The bounding set comes first, because that
// takes CAP_SETPCAP. It matters without no_new_privs, where execve by uid 0 or of
// a setuid program gives out of it; with no_new_privs it is left alone if this
// process may not change it.
func (p *compiler) capabilities() error {
	drop := p.birth.DropCapabilities
	if drop == 0 {
		return nil
	}
	sets, err := p.startingCapabilities()
	if err != nil {
		return err
	}
	p.at("capabilities", "")
	for n := range 64 {
		if bit := uint64(1) << n; sets.bounding&drop&bit != 0 {
			p.add(sysPrctl, sym(unix.PR_CAPBSET_DROP, "PR_CAPBSET_DROP"), sym(n, capabilityName(n)), num(0), num(0), num(0))
		}
	}
	if (sets.effective|sets.permitted|sets.inheritable)&drop != 0 {
		p.add(sysCapset, buf(capabilityHeader(), "version 3"), buf(sets.without(drop), fmt.Sprintf("without %#x", drop)))
	}
	return nil
}

// startingCapabilities reads the sets of this process. In a new user namespace
// the child has every capability that there is, and none to inherit
// (user_namespaces(7)).
func (p *compiler) startingCapabilities() (capabilitySets, error) {
	if p.birth.Namespaces&core.NamespaceUser != 0 {
		_, all, err := boundingSet()
		return capabilitySets{effective: all, permitted: all, bounding: all}, err
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return capabilitySets{}, capabilitiesError("capget", err)
	}
	joined := func(low, high uint32) uint64 { return uint64(high)<<32 | uint64(low) }
	sets := capabilitySets{
		effective:   joined(data[0].Effective, data[1].Effective),
		permitted:   joined(data[0].Permitted, data[1].Permitted),
		inheritable: joined(data[0].Inheritable, data[1].Inheritable),
	}
	if sets.effective&(1<<unix.CAP_SETPCAP) == 0 {
		nothing, err := p.willGainNothing()
		if nothing || err != nil {
			return sets, err
		}
	}
	var err error
	sets.bounding, _, err = boundingSet()
	return sets, err
}

// willGainNothing reports whether the command will have no_new_privs.
func (p *compiler) willGainNothing() (bool, error) {
	if p.birth.NoNewPrivileges {
		return true, nil
	}
	now, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err != nil {
		return false, capabilitiesError("prctl", err)
	}
	return now == 1, nil
}

// boundingSet returns the bounding set, and the set of all capabilities that the
// kernel knows: of others it says EINVAL (PR_CAPBSET_READ(2const)).
func boundingSet() (set, known uint64, err error) {
	for n := range 64 {
		has, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, uintptr(n), 0, 0, 0)
		if err == unix.EINVAL && n > 0 {
			break
		}
		if err != nil {
			return 0, 0, capabilitiesError("prctl", err)
		}
		known |= 1 << n
		set |= uint64(has) << n
	}
	return set, known, nil
}

func capabilitiesError(call string, err error) error {
	errno, _ := err.(syscall.Errno)
	return &Error{Step: "capabilities", Index: -1, Call: call, Errno: errno}
}

// capabilityHeader is struct __user_cap_header_struct for the calling process.
func capabilityHeader() []byte {
	b := binary.NativeEndian.AppendUint32(nil, unix.LINUX_CAPABILITY_VERSION_3)
	return binary.NativeEndian.AppendUint32(b, 0)
}

// without is two struct __user_cap_data_struct of <linux/capability.h>: the low
// halves of the sets, then the high ones.
func (s capabilitySets) without(drop uint64) []byte {
	var b []byte
	for _, shift := range []int{0, 32} {
		for _, set := range []uint64{s.effective, s.permitted, s.inheritable} {
			b = binary.NativeEndian.AppendUint32(b, uint32((set&^drop)>>shift))
		}
	}
	return b
}

// capabilityNames are those of capabilities(7), by number.
var capabilityNames = [...]string{
	"CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP",
	"LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER",
	"SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE",
	"SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD", "LEASE", "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP",
	"MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF",
	"CHECKPOINT_RESTORE",
}

func capabilityName(n int) string {
	if n < len(capabilityNames) {
		return "CAP_" + capabilityNames[n]
	}
	return fmt.Sprint(n)
}
