#!/usr/bin/env bash
# Makes sure that the programs are there that make and run the virtual machines. On a Debian (or a derivative) what is missing
# is installed with apt, as root or through sudo.
set -euo pipefail

declare -A package=([qemu-system-x86_64]=qemu-system-x86 [mmdebstrap]=mmdebstrap [cpio]=cpio [zstd]=zstd)
missing=()
for program in "${!package[@]}"; do
	command -v "$program" >/dev/null || missing+=("${package[$program]}")
done
# Only where the kernels come from matters, not what this machine runs: a derivative has Debian's keys as a package.
[ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || missing+=(debian-archive-keyring)
if [ ${#missing[@]} -eq 0 ]; then
	exit 0
fi

if ! command -v apt-get >/dev/null; then
	echo "matrix: ${missing[*]} must be installed, and there is no apt on this machine to do it" >&2
	exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
	if ! command -v sudo >/dev/null; then
		echo "matrix: as root, run apt-get install ${missing[*]}" >&2
		exit 1
	fi
	as_root=(sudo)
fi
echo "matrix: installing ${missing[*]}" >&2
"${as_root[@]}" apt-get update -qq </dev/null
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" </dev/null >&2
