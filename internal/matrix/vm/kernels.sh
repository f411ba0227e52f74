#!/usr/bin/env bash
# kernels.sh DIR SERIES... makes DIR/SERIES/vmlinuz of Debian's kernel for virtual machines, for each series that is not there
# yet: 6.1 is the newest 6.1 that the archive has. Nothing is installed: apt works in a directory of its own, as any user.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
kernels=$1
shift

missing=()
for series in "$@"; do
	[ -s "$kernels/$series/vmlinuz" ] || missing+=("$series")
done
[ ${#missing[@]} -gt 0 ] || exit 0

# shellcheck source-path=SCRIPTDIR
. "$here/archive.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{etc/apt.conf.d,etc/preferences.d,state/lists/partial,cache/archives/partial}
: >"$work/status"
# The suites that hold the live series: 5.10, 6.1, 6.12, and what is newer.
cat >"$work/etc/sources.list" <<END
deb [signed-by=$keys] $security bullseye-security main
deb [signed-by=$keys] $security bookworm-security main
deb [signed-by=$keys] $archive bookworm main
deb [signed-by=$keys] $archive trixie-backports main
END
# What a proxy or a certificate needs stays as the machine has it; only where apt keeps things changes.
cat >"$work/apt.conf" <<END
Dir::Etc::sourcelist "$work/etc/sources.list";
Dir::Etc::sourceparts "-";
Dir::Etc::preferencesparts "$work/etc/preferences.d";
Dir::State "$work/state";
Dir::State::status "$work/status";
Dir::Cache "$work/cache";
APT::Sandbox::User "$(id -un)";
APT::Architecture "amd64";
APT::Architectures { "amd64"; };
Acquire::Languages "none";
Acquire::Retries "3";
END
export APT_CONFIG=$work/apt.conf
apt-get -qq update >&2

# Up to 6.18 the kernel is in linux-image-*, from then on in linux-binary-*.
names=$(apt-cache pkgnames linux- | grep -E '^linux-(image|binary)-[0-9].*-cloud-amd64$' | sort -V)
for series in "${missing[@]}"; do
	escaped=${series//./\\.}
	name=$(grep -E "^linux-binary-$escaped[.+-]" <<<"$names" | tail -n 1 || true)
	[ -n "$name" ] || name=$(grep -E "^linux-image-$escaped[.+-]" <<<"$names" | tail -n 1 || true)
	if [ -z "$name" ]; then
		echo "matrix: $archive has no kernel $series for virtual machines" >&2
		exit 1
	fi
	mkdir "$work/$series"
	cd "$work/$series"
	apt-get -qq download "$name" >&2
	dpkg-deb --fsys-tarfile ./*.deb | tar -x --wildcards --no-anchored 'vmlinuz*'
	found=$(find . -name 'vmlinuz*' -type f -print -quit)
	if [ -z "$found" ]; then
		echo "matrix: the package $name has no vmlinuz" >&2
		exit 1
	fi
	mkdir -p "$kernels/$series"
	# A name of its own first: an interrupted copy must not be taken for a kernel.
	cp "$found" "$kernels/$series/vmlinuz.new"
	mv "$kernels/$series/vmlinuz.new" "$kernels/$series/vmlinuz"
	echo "kernel $series: $name" >&2
done
