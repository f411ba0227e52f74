#!/bin/bash
# Runs in the virtual machine, as root, when it has booted: lets the guest program observe as each user of the job, sends what
# it printed to the host through the second serial port, and switches the machine off. Only root can read the job with the
# nonce that marks the host's frames, so what a command prints is never taken for a result.
exec </dev/null >/dev/ttyS0 2>&1
. /vm/job # nonce, users, patience in seconds
stty -F /dev/ttyS1 raw -echo
exec 9>/dev/ttyS1

as_user() { # as_user PROPERTY... -- COMMAND...: as dev, in a unit of the system manager
	timeout --kill-after=5 "$patience" systemd-run --quiet --wait --pipe --collect -p User=dev -p WorkingDirectory=/home/dev "$@"
}

observe() {
	local guest=(/vm/bin/guest observe /vm/bin/pinfold)
	case $1 in
	root)
		cd /root && HOME=/root timeout --kill-after=5 "$patience" "${guest[@]}"
		;;
	# A unit of the system: no login session, no user manager.
	service)
		if [ -e /run/user/1000 ]; then
			echo "guest-run: dev has a user manager, so this is no plain service" >&2
			return 1
		fi
		as_user "${guest[@]}"
		;;
	# What a terminal or ssh gives: logind makes a session scope.
	session)
		as_user -p PAMName=login -E XDG_SESSION_TYPE=tty -E XDG_SESSION_CLASS=user bash -lc 'exec "$@"' bash "${guest[@]}"
		;;
	# A service of the user manager, as desktops start their applications.
	user)
		loginctl enable-linger dev
		for _ in $(seq 1200); do
			[ -S /run/user/1000/bus ] && systemctl is-active --quiet user@1000.service && break
			sleep .05
		done
		as_user -E XDG_RUNTIME_DIR=/run/user/1000 systemd-run --user --quiet --wait --pipe --collect "${guest[@]}"
		;;
	esac
}

send() { # send NAME FILE STATUS
	printf '\n@%s begin %s\n' "$nonce" "$1" >&9
	base64 "$2" >&9
	printf '@%s end %s %s\n' "$nonce" "$1" "$3" >&9
}

umask 077
mkdir /vm/results
for user in $users; do
	observe "$user" >/vm/results/output 2>/vm/results/errors
	status=$?
	send "$user/output" /vm/results/output "$status"
	send "$user/errors" /vm/results/errors "$status"
done
printf '\n@%s done\n' "$nonce" >&9
exec 9>&- # closing a serial port waits until what was written has left
echo 1 >/proc/sys/kernel/sysrq
echo o >/proc/sysrq-trigger
sleep 10
poweroff -ff
