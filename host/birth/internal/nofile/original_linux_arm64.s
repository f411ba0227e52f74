#include "textflag.h"

// func getrlimit(limit *Limit) (answer int)
TEXT ·getrlimit(SB), NOSPLIT, $0-16
	MOVD	$0, R0	// this process
	MOVD	$7, R1	// RLIMIT_NOFILE
	MOVD	$0, R2
	MOVD	limit+0(FP), R3
	MOVD	$261, R8	// prlimit64
	SVC
	MOVD	R0, answer+8(FP)
	RET
