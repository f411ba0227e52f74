#include "textflag.h"

// func getrlimit(limit *Limit) (answer int)
TEXT ·getrlimit(SB), NOSPLIT, $0-16
	MOVQ	$0, DI	// this process
	MOVQ	$7, SI	// RLIMIT_NOFILE
	MOVQ	$0, DX
	MOVQ	limit+0(FP), R10
	MOVQ	$302, AX	// prlimit64
	SYSCALL
	MOVQ	AX, answer+8(FP)
	RET
