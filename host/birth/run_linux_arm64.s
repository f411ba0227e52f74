#include "go_asm.h"
#include "textflag.h"

#define SYS_exit_group     94
#define SYS_rt_sigprocmask 135
#define SYS_clone3         435

#define SIG_SETMASK 2
#define SIGSET_SIZE 8
#define MAX_ERRNO   4095

// func vfork(m *machine) (pid int)
//
// The child runs on the parent's stack and must leave no trace there: it lives
// in registers and in *m, makes no call, and never returns. SVC changes R0
// only, and the kernel gives the parent its own registers back.
TEXT ·vfork(SB), NOSPLIT, $0-16
	MOVD	m+0(FP), R19

	// No signal may reach the child while it shares the parent's memory.
	MOVD	$SIG_SETMASK, R0
	ADD	$machine_blocked, R19, R1
	ADD	$machine_mask, R19, R2
	MOVD	$SIGSET_SIZE, R3
	MOVD	$SYS_rt_sigprocmask, R8
	SVC
	MOVD	R0, R20
	CBNZ	R0, done

	ADD	$machine_clone, R19, R0
	MOVD	$cloneArgs__size, R1
	MOVD	$SYS_clone3, R8
	SVC
	MOVD	R0, R20
	CBZ	R0, child

	// The parent, after the child called execve or ended.
	MOVD	$SIG_SETMASK, R0
	ADD	$machine_mask, R19, R1
	MOVD	ZR, R2
	MOVD	$SIGSET_SIZE, R3
	MOVD	$SYS_rt_sigprocmask, R8
	SVC
done:
	MOVD	R20, pid+8(FP)
	RET

child:
	MOVD	machine_code(R19), R20
	MOVD	machine_end(R19), R21
next:
	MOVD	R20, machine_at(R19)
	CMP	R20, R21
	BEQ	exit
	MOVD	(instruction_from+0)(R20), R0
	MOVD	(R0), R0
	MOVD	(instruction_from+8)(R20), R1
	MOVD	(R1), R1
	MOVD	(instruction_from+16)(R20), R2
	MOVD	(R2), R2
	MOVD	(instruction_from+24)(R20), R3
	MOVD	(R3), R3
	MOVD	(instruction_from+32)(R20), R4
	MOVD	(R4), R4
	MOVD	(instruction_from+40)(R20), R5
	MOVD	(R5), R5
	MOVD	instruction_call(R20), R8
	SVC
	CMN	$MAX_ERRNO, R0
	BCS	failed
	MOVD	R0, instruction_result(R20)
	ADD	$instruction__size, R20
	B	next

failed:
	NEG	R0, R0
	MOVD	R0, machine_errno(R19)
exit:
	MOVD	$127, R0
	MOVD	$SYS_exit_group, R8
	SVC
	// A seccomp filter refused even that: a forced signal ends the child.
	BRK
	B	exit
