package landlock

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"unsafe"

	llsys "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/plugins/landlock/seccomp"
)

// observeMachine finds out what the kernel has and what this process may do. It
// changes nothing.
func observeMachine() (*machine, error) {
	m := &machine{errata: -1, pipesCore: dumpsToProgram}
	var uts unix.Utsname
	if err := unix.Uname(&uts); err != nil {
		return nil, probeError("uname", err)
	}
	m.release = unix.ByteSliceToString(uts.Release[:])

	if err := m.observeLandlock(); err != nil {
		return nil, err
	}
	m.filter = observeSeccomp()
	if err := m.observeCapabilities(); err != nil {
		return nil, err
	}
	return m, nil
}

// observeLandlock asks for the ABI. The two ways of not having Landlock are told
// apart by the errno (landlock_create_ruleset(2)); EPERM comes from filters that
// container engines install.
func (m *machine) observeLandlock() error {
	if text, err := os.ReadFile("/sys/kernel/security/lsm"); err == nil {
		m.modules = strings.TrimSpace(string(text))
	}
	version, err := llsys.LandlockGetABIVersion()
	switch {
	case err == nil:
		m.landlock, m.kernelABI = landlockActive, version
	case errors.Is(err, unix.ENOSYS):
		m.landlock = landlockNotBuilt
	case errors.Is(err, unix.EOPNOTSUPP):
		m.landlock = landlockDisabled
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		m.landlock = landlockRefused
	default:
		return probeError("landlock_create_ruleset", err)
	}
	// LANDLOCK_CREATE_RULESET_ERRATA came with Linux 6.15 and was backported; a
	// kernel that does not know the flag answers EINVAL.
	if m.landlock == landlockActive {
		if set, err := llsys.LandlockGetErrata(); err == nil {
			m.errata = set
		}
	}
	return nil
}

// observeSeccomp reports nil if a filter that answers with an errno can be
// installed. A null filter is looked at before privileges are (seccomp(2)): where
// filters exist the kernel answers EFAULT and nothing is installed.
func observeSeccomp() error {
	if _, err := seccomp.Compile(seccomp.Options{}); err != nil {
		return fmt.Errorf("no filter for %s", runtime.GOARCH)
	}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, 0)
	if errno != unix.EFAULT {
		return fmt.Errorf("not available (seccomp: %w)", errno)
	}
	action := uint32(unix.SECCOMP_RET_ERRNO)
	_, _, errno = unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	if errno != 0 {
		return fmt.Errorf("not available (SECCOMP_RET_ERRNO: %w)", errno)
	}
	return nil
}

// observeCapabilities reads the capabilities that this process has.
func (m *machine) observeCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return probeError("capget", err)
	}
	effective := func(capability int) bool {
		return data[capability/32].Effective&(1<<(capability%32)) != 0
	}
	m.capabilities = uint64(data[1].Permitted)<<32 | uint64(data[0].Permitted)
	m.mounter = effective(unix.CAP_SYS_ADMIN) && mountsAllowed()
	return nil
}

// mountsAllowed reports whether mounting is refused by none of those that may be
// around this process: a container's filter, or a Landlock domain of our own making
// when one session runs in another. It asks for what is permitted and senseless: to
// unshare with a flag that does not exist, and to make the root mount private and
// shared at once. The kernel answers EINVAL, after it has looked at who asks.
func mountsAllowed() bool {
	const noSuchFlag = 1
	return unix.Unshare(unix.CLONE_NEWNS|noSuchFlag) == unix.EINVAL &&
		unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_SHARED, "") == unix.EINVAL
}

// probeError is for a question that the kernel did not answer.
func probeError(call string, err error) error {
	e := &core.Error{Reason: core.ErrNotPermitted, Stage: core.StageProbe, Backend: Name,
		Detail: "cannot find out what this machine enforces: " + call + " failed", Err: err}
	errors.As(err, &e.Errno)
	return e
}
