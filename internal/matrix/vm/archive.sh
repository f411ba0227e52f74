# Sourced. Sets archive and security to the Debian archives that this machine's apt uses, without a slash at the end.
# PINFOLD_VM_ARCHIVE and PINFOLD_VM_SECURITY override them, and have to be set where apt's sources are no Debian.

# uris prints the addresses in apt's sources, in both formats, commented lines left out.
uris() {
	cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
		awk '/^URIs:/ { for (i = 2; i <= NF; i++) print $i }
			/^deb / { for (i = 2; i <= NF; i++) if ($i ~ /^[a-z+]+:\//) { print $i; break } }' |
		sed 's,/*$,,'
}

archive=${PINFOLD_VM_ARCHIVE:-$(uris | grep -E '/debian$' | head -n 1 || true)}
archive=${archive%/}
if [ -z "$archive" ]; then
	echo "matrix: apt's sources name no Debian archive: set PINFOLD_VM_ARCHIVE to the address of one" >&2
	exit 1
fi
security=${PINFOLD_VM_SECURITY:-$(uris | grep -E '/debian-security$' | head -n 1 || true)}
security=${security:-$archive-security}
security=${security%/}
keys=/usr/share/keyrings/debian-archive-keyring.gpg
