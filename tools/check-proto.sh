#!/usr/bin/env bash
# Fails when the generated Go of the contract is not what `make proto` would write now. It generates into a temporary
# directory and compares, so it works in a tree with uncommitted changes and changes nothing in it.
set -euo pipefail
cd "$(dirname "$0")/.."

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT

go tool -modfile=tools/go.mod buf generate --output "$fresh"

generated() { (cd "$1" && find . -name '*.pb.go' -not -path './.git/*' | LC_ALL=C sort); }

stale=0
while read -r file; do
	if [ ! -f "$fresh/$file" ]; then
		echo "check-proto: $file: no .proto file generates it any more" >&2
		stale=1
	elif [ ! -f "$file" ]; then
		echo "check-proto: $file: missing" >&2
		stale=1
	elif ! diff -u --label "$file (in the tree)" --label "$file (generated)" "$file" "$fresh/$file" >&2; then
		stale=1
	fi
done < <({ generated .; generated "$fresh"; } | LC_ALL=C sort -u)

if [ "$stale" -ne 0 ]; then
	echo "check-proto: the generated Go is not up to date: run 'make proto' and commit the result" >&2
	exit 1
fi
