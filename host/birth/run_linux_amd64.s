#include "go_asm.h"
#include "textflag.h"

#define SYS_rt_sigprocmask 14
#define SYS_exit_group     231
#define SYS_clone3         435

#define SIG_SETMASK 2
#define SIGSET_SIZE 8
#define MAX_ERRNO   4095

// func vfork(m *machine) (pid int)
//
// The child runs on the parent's stack and must leave no trace there: it lives
// in registers and in *m, makes no call, and never returns. SYSCALL changes
// AX, CX and R11 only, and the kernel gives the parent its own registers back.
TEXT ·vfork(SB), NOSPLIT, $0-16
	MOVQ	m+0(FP), BX

	// No signal may reach the child while it shares the parent's memory.
	MOVQ	$SIG_SETMASK, DI
	LEAQ	machine_blocked(BX), SI
	LEAQ	machine_mask(BX), DX
	MOVQ	$SIGSET_SIZE, R10
	MOVQ	$SYS_rt_sigprocmask, AX
	SYSCALL
	MOVQ	AX, R12
	TESTQ	AX, AX
	JNE	done

	LEAQ	machine_clone(BX), DI
	MOVQ	$cloneArgs__size, SI
	MOVQ	$SYS_clone3, AX
	SYSCALL
	MOVQ	AX, R12
	TESTQ	AX, AX
	JEQ	child

	// The parent, after the child called execve or ended.
	MOVQ	$SIG_SETMASK, DI
	LEAQ	machine_mask(BX), SI
	XORL	DX, DX
	MOVQ	$SIGSET_SIZE, R10
	MOVQ	$SYS_rt_sigprocmask, AX
	SYSCALL
done:
	MOVQ	R12, pid+8(FP)
	RET

child:
	MOVQ	machine_code(BX), R12
	MOVQ	machine_end(BX), R13
next:
	MOVQ	R12, machine_at(BX)
	CMPQ	R12, R13
	JEQ	exit
	MOVQ	(instruction_from+0)(R12), DI
	MOVQ	(DI), DI
	MOVQ	(instruction_from+8)(R12), SI
	MOVQ	(SI), SI
	MOVQ	(instruction_from+16)(R12), DX
	MOVQ	(DX), DX
	MOVQ	(instruction_from+24)(R12), R10
	MOVQ	(R10), R10
	MOVQ	(instruction_from+32)(R12), R8
	MOVQ	(R8), R8
	MOVQ	(instruction_from+40)(R12), R9
	MOVQ	(R9), R9
	MOVQ	instruction_call(R12), AX
	SYSCALL
	CMPQ	AX, $-MAX_ERRNO
	JCC	failed
	MOVQ	AX, instruction_result(R12)
	ADDQ	$instruction__size, R12
	JMP	next

failed:
	NEGQ	AX
	MOVQ	AX, machine_errno(BX)
exit:
	MOVQ	$127, DI
	MOVQ	$SYS_exit_group, AX
	SYSCALL
	// A seccomp filter refused even that: a forced signal ends the child.
	INT	$3
	JMP	exit
