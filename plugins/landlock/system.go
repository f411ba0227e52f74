//go:build linux

package landlock

import "github.com/pinfold/pinfold/core"

// A systemPath is a part of the system that programs need to run at all.
type systemPath struct {
	path    string
	access  core.Access
	purpose string
	when    condition
	// caution is what granting it means beyond the obvious, for the report.
	caution string
}

// A condition says on which machines and under which policies a path is granted.
type condition int

const (
	_ condition = iota // always
	// modesProtect: only where the permission bits of files keep secrets from the
	// process, so not as root.
	modesProtect
	// withNetwork: only where the policy grants some network.
	withNetwork
)

const (
	r  = core.Read
	rw = core.Read | core.Write
	rx = core.Read | core.Execute
)

// systemPaths are granted by Filesystem.System. What is not here is not granted:
// /tmp and /var/tmp (a session has its own temporary directory), /run with the
// sockets of the service manager, buses and agents, /home, /root, /var, /boot, /srv,
// the rest of /sys and of /dev. Symbolic links need no rule, so /dev/fd and
// /dev/stdin are not here either: what counts is the file they lead to.
var systemPaths = []systemPath{
	{path: "/usr", access: rx, purpose: "programs, libraries, shared data"},
	{path: "/bin", access: rx, purpose: "programs"},
	{path: "/sbin", access: rx, purpose: "programs"},
	{path: "/lib", access: rx, purpose: "libraries"},
	{path: "/lib32", access: rx, purpose: "libraries"},
	{path: "/lib64", access: rx, purpose: "libraries"},
	{path: "/libx32", access: rx, purpose: "libraries"},
	{path: "/opt", access: rx, purpose: "add-on software", when: modesProtect},
	{path: "/nix/store", access: rx, purpose: "packages of Nix"},
	{path: "/run/current-system", access: rx, purpose: "the system of NixOS"},
	{path: "/gnu/store", access: rx, purpose: "packages of Guix"},
	{path: "/snap", access: rx, purpose: "packages of snapd"},
	{path: "/home/linuxbrew/.linuxbrew", access: rx, purpose: "packages of Homebrew"},

	{path: etc, access: r, purpose: "configuration"},
	{path: "/var/lib/ca-certificates", access: r, purpose: "certificates"},
	{path: "/var/cache/fontconfig", access: r, purpose: "index of fonts"},
	{path: "/run/systemd/resolve/resolv.conf", access: r, purpose: "name servers", when: withNetwork},
	{path: "/run/systemd/resolve/stub-resolv.conf", access: r, purpose: "name servers", when: withNetwork},
	{path: "/run/resolvconf", access: r, purpose: "name servers", when: withNetwork},
	{path: "/run/NetworkManager/resolv.conf", access: r, purpose: "name servers", when: withNetwork},

	{path: "/proc", access: r, purpose: "own processes, state of the kernel",
		caution: "command lines and states of other processes can be seen; the dimension tracing says what else"},
	{path: "/sys/devices/system/cpu", access: r, purpose: "number and kind of processors"},
	{path: "/sys/devices/system/node", access: r, purpose: "memory nodes"},
	{path: "/sys/kernel/mm/transparent_hugepage", access: r, purpose: "page sizes"},
	{path: "/sys/kernel/mm/hugepages", access: r, purpose: "page sizes"},
	{path: "/sys/fs/cgroup", access: r, purpose: "limits of memory and processors"},

	{path: "/dev/null", access: rw, purpose: "device"},
	{path: "/dev/zero", access: rw, purpose: "device"},
	{path: "/dev/full", access: rw, purpose: "device"},
	{path: "/dev/random", access: rw, purpose: "device"},
	{path: "/dev/urandom", access: rw, purpose: "device"},
	{path: "/dev/tty", access: rw, purpose: "own terminal"},
	{path: "/dev/ptmx", access: rw, purpose: "making terminals"},
	{path: "/dev/pts", access: rw, purpose: "terminals",
		caution: "the user's other terminals are among them"},
	{path: "/dev/shm", access: rw, purpose: "shared memory",
		caution: "what other programs of the user share is in it"},
}

// granted reports whether the path is part of this design.
func (s systemPath) granted(d *design) bool {
	switch s.when {
	case modesProtect:
		return !d.overridesModes()
	case withNetwork:
		return d.policy.Network.Mode != core.NetworkNone
	}
	return true
}

// etc is granted whole where permission bits keep its secrets: a user reads there
// what everybody may. To a process that overrides them, as root does, nothing
// protects shadow or the host keys of ssh, so it gets the names in etcNames alone.
const etc = "/etc"

// etcNames are the files and directories of /etc that programs read and that hold
// no secrets, by the conventions of the distributions. A name is granted if it is
// no symbolic link and its permission bits let everybody read it.
var etcNames = []string{
	// Users, groups, hosts and names.
	"passwd", "group", "nsswitch.conf", "hosts", "hostname", "host.conf", "resolv.conf", "gai.conf", "networks",
	"protocols", "services", "rpc", "ethers", "netconfig", "login.defs", "shells", "subuid", "subgid", "machine-id",
	// The system's name and defaults.
	"os-release", "lsb-release", "debian_version", "redhat-release", "system-release", "fedora-release", "arch-release",
	"alpine-release", "SuSE-release", "issue", "issue.net", "locale.conf", "locale.gen", "locale.alias", "default/locale",
	"vconsole.conf", "localtime", "timezone", "adjtime", "fstab", "mtab", "motd", "papersize", "debconf.conf",
	// Loading programs.
	"ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ld.so.preload", "ld-musl-x86_64.path", "ld-musl-aarch64.path",
	"alternatives", "binfmt.d", "gcrypt", "environment", "sysconfig/clock", "sysconfig/i18n",
	// Shells, terminals, editors.
	"profile", "profile.d", "bash.bashrc", "bashrc", "bash_completion", "bash_completion.d", "zsh", "zshrc", "zshenv",
	"zprofile", "fish", "skel", "inputrc", "terminfo", "DIR_COLORS", "vim", "vimrc", "virc", "nanorc", "emacs", "screenrc",
	"tmux.conf", "lesskey", "manpath.config", "man_db.conf", "magic", "magic.mime", "mime.types", "mailcap", "mailcap.order",
	// Certificates and cryptography; private keys are in ssl/private and pki/tls/private.
	"ssl/certs", "ssl/openssl.cnf", "ssl/ct_log_list.cnf", "ssl/cert.pem", "ca-certificates", "ca-certificates.conf",
	"pki/tls/certs", "pki/tls/cert.pem", "pki/tls/openssl.cnf", "pki/ca-trust", "pki/nssdb", "crypto-policies",
	"gnutls", "p11-kit", "ssh/ssh_config", "ssh/ssh_config.d", "ssh/ssh_known_hosts", "ssh/moduli", "krb5.conf", "krb5.conf.d",
	// Tools and languages.
	"gitconfig", "gitattributes", "mercurial", "subversion", "gdb", "perl", "python", "python2.7", "python3", "python3.9",
	"python3.10", "python3.11", "python3.12", "python3.13", "python3.14", "pip.conf", "gemrc", "npmrc", "java", "java-11-openjdk",
	"java-17-openjdk", "java-21-openjdk", "jvm", "lua", "php", "R", "texmf", "nodejs", "dotnet", "cargo", "wgetrc",
	"rpm", "dpkg", "apt/sources.list", "apt/sources.list.d", "apt/apt.conf.d", "apt/preferences.d", "apt/trusted.gpg.d", "apt/keyrings",
	"dnf", "yum.conf", "yum.repos.d", "pacman.conf", "pacman.d", "apk", "fonts", "X11", "xdg", "gtk-2.0", "gtk-3.0", "gtk-4.0",
	"ImageMagick-6", "ImageMagick-7", "groff", "ghostscript", "papersize.d", "dconf", "glvnd", "vulkan", "OpenCL", "drirc",
	"libnl", "libnl-3", "libblockdev", "selinux", "sysctl.conf", "sysctl.d", "security/limits.conf", "security/limits.d", "pam.d",
	"init.d", "rc.d", "logrotate.conf", "logrotate.d", "update-motd.d", "nix/nix.conf", "NIXOS", "guix",
}
