#!/bin/bash
# Tries what a hostile program would try, and says of each attempt whether it
# succeeded. The tour runs it twice: unconfined, where every attempt has to
# succeed, and under pinfold, where none may.
#
#	hostile.sh SECRET OUTSIDE PORT DAEMON
#
# SECRET is a file to read, OUTSIDE one to write, PORT a TCP port of this machine
# to connect to, and DAEMON a name for the daemon to leave behind.
secret=$1 outside=$2 port=$3 daemon=$4

attempt() {
	local what=$1
	shift
	if why=$("$@" 2>&1 >/dev/null); then
		echo "succeeded: $what"
	else
		echo "refused:   $what (${why##*: })"
	fi
}

read_secret() { cat "$secret"; }
write_outside() { echo tampered >"$outside"; }
reach_network() { exec 3<>"/dev/tcp/127.0.0.1/$port"; }
read_environment() { [ -n "$TOUR_TOKEN" ] || { echo "not in the environment" >&2; return 1; }; }

attempt "read a secret outside the workspace" read_secret
attempt "write outside the workspace" write_outside
attempt "connect to a service of this machine" reach_network
attempt "read a token from the environment" read_environment

# A daemon as it should be written: forked twice, in a session of its own, with
# nothing of its parent's left.
( setsid bash -c "exec -a '$daemon' sleep 3600" </dev/null >/dev/null 2>&1 & )
echo "left a daemon behind"
