#!/bin/sh
# rootfs-content.sh ROOT is a hook of mmdebstrap: it makes the tree below ROOT boot straight into /vm/guest-run, which the
# matrix puts beside it for each boot, and packs it as ROOT/image.cpio.zst.
set -eu
root=$1

chroot "$root" useradd -m -u 1000 -s /bin/bash dev
chroot "$root" useradd -m -u 1001 -s /bin/bash other
echo vm >"$root/etc/hostname"
echo '127.0.0.1 localhost vm' >"$root/etc/hosts"
: >"$root/etc/machine-id"
mkdir -p "$root/vm/root"

units=$root/etc/systemd/system
cat >"$units/vm-run.service" <<'END'
[Unit]
Description=What this machine was started for
After=systemd-logind.service dbus.service systemd-user-sessions.service
Wants=systemd-logind.service dbus.service systemd-user-sessions.service
[Service]
Type=oneshot
ExecStart=/vm/guest-run
StandardInput=null
StandardOutput=file:/dev/ttyS0
StandardError=file:/dev/ttyS0
TimeoutStartSec=infinity
END
cat >"$units/vm-run.target" <<'END'
[Unit]
Requires=basic.target vm-run.service
After=basic.target
AllowIsolate=yes
END
ln -sf vm-run.target "$units/default.target"

# What takes time at the start and is of no use to a machine that lives for a minute.
for unit in apt-daily.timer apt-daily-upgrade.timer console-getty.service dev-hugepages.mount dpkg-db-backup.timer \
	e2scrub_all.timer fstrim.timer getty.target getty@tty1.service kmod-static-nodes.service ldconfig.service \
	modprobe@.service proc-sys-fs-binfmt_misc.automount serial-getty@ttyS0.service sys-fs-fuse-connections.mount \
	sys-kernel-debug.mount sys-kernel-tracing.mount systemd-ask-password-console.path systemd-ask-password-wall.path \
	systemd-binfmt.service systemd-firstboot.service systemd-hwdb-update.service systemd-journal-catalog-update.service \
	systemd-journal-flush.service systemd-machine-id-commit.service systemd-modules-load.service systemd-pstore.service \
	systemd-random-seed.service systemd-timesyncd.service systemd-tmpfiles-clean.timer systemd-update-done.service \
	systemd-update-utmp-runlevel.service systemd-update-utmp.service; do
	ln -sf /dev/null "$units/$unit"
done
rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/* "$root"/boot/* "$root"/var/log/*.log \
	"$root"/usr/share/bash-completion "$root"/usr/share/lintian "$root"/usr/share/bug "$root"/usr/share/zsh \
	"$root"/usr/lib/systemd/catalog

# The first root file system cannot be the old root of pivot_root(2). Bound over itself, it is an ordinary mount.
cat >"$root/init" <<'END'
#!/bin/sh
mount --bind / /vm/root && cd /vm/root && mount --move . / && exec chroot . /sbin/init "$@"
exec /sbin/init "$@"
END
chmod 755 "$root/init"

# During a hook the host's /dev, /proc and /sys are mounted in the tree; the machine mounts its own.
cd "$root"
find . -mindepth 1 -path './dev/*' -prune -o -path './proc/*' -prune -o -path './sys/*' -prune -o \
	-path ./image.cpio -prune -o -print0 | LC_ALL=C sort -z | cpio --null -o -H newc --quiet >image.cpio
zstd -q -T0 -9 --rm image.cpio -o image.cpio.zst
