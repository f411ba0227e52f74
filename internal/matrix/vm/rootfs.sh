#!/usr/bin/env bash
# rootfs.sh IMAGE makes the root file system of the virtual machines, unless it is there: a Debian 12 with systemd, logind and
# two users, as a compressed cpio that the kernel unpacks into memory. Whoever changes what goes into it gives IMAGE another
# name, in internal/matrix/prepare.go. Debian 12, because its systemd is the last that works with Linux 5.10 and cgroup v1.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
image=$1
[ ! -s "$image" ] || exit 0

# shellcheck source-path=SCRIPTDIR
. "$here/archive.sh"
mkdir -p "$(dirname "$image")"
trap 'rm -f "$image.new"' EXIT
exclude=()
for path in /usr/share/{man,doc,locale,info,zoneinfo} /usr/lib/x86_64-linux-gnu/gconv; do
	exclude+=("--dpkgopt=path-exclude=$path/*")
done
# The target null: the second hook packs the tree, and download fetches the result also from a user namespace, in which a
# normal user's mmdebstrap works.
mmdebstrap --quiet --variant=minbase --format=null --architectures=amd64 \
	--include=systemd,systemd-sysv,dbus,dbus-user-session,libpam-systemd,login,passwd,util-linux,procps \
	--aptopt='Apt::Install-Recommends "false"' --aptopt='Acquire::Retries "3"' "${exclude[@]}" --keyring="$keys" \
	--customize-hook="$here/rootfs-content.sh" \
	--customize-hook="download /image.cpio.zst $image.new" \
	bookworm - "$archive" >&2
mv "$image.new" "$image"
