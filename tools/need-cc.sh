#!/usr/bin/env bash
# Makes sure that there is a working C compiler with the C library's headers, which Go's race detector needs. Where one is
# missing and the machine is a Debian (or a derivative) it is installed with apt, as root or through sudo.
set -euo pipefail

cc=$(go env CC)

works() { echo '#include <stdlib.h>' | $cc -E - >/dev/null 2>&1; }

if works; then
	exit 0
fi

if ! command -v apt-get >/dev/null; then
	echo "need-cc: the race detector needs a C compiler and '$cc' does not work here: install one with its C library headers" >&2
	exit 1
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
	if ! command -v sudo >/dev/null; then
		echo "need-cc: the race detector needs a C compiler: as root, run apt-get install gcc libc6-dev" >&2
		exit 1
	fi
	as_root=(sudo)
fi

echo "need-cc: installing gcc and libc6-dev" >&2
"${as_root[@]}" apt-get update -qq </dev/null
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends gcc libc6-dev </dev/null

if ! works; then
	echo "need-cc: '$cc' still does not work; is CC set to a compiler that is not installed?" >&2
	exit 1
fi
