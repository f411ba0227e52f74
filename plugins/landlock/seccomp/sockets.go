package seccomp

// Values of <linux/socket.h>, <linux/net.h>, <linux/in.h>, <linux/netlink.h>
// and <linux/tcp.h>, the same on both architectures.
var (
	afUnix    = constant{"AF_UNIX", 1}
	afInet    = constant{"AF_INET", 2}
	afInet6   = constant{"AF_INET6", 10}
	afNetlink = constant{"AF_NETLINK", 16}

	// The type argument carries SOCK_NONBLOCK and SOCK_CLOEXEC above these bits.
	sockTypeMask  = constant{"SOCK_TYPE_MASK", 0xf}
	sockStream    = constant{"SOCK_STREAM", 1}
	sockSeqpacket = constant{"SOCK_SEQPACKET", 5}
	// The kernel turns (AF_INET, SOCK_PACKET) into a packet socket.
	sockPacket = constant{"SOCK_PACKET", 10}

	ipprotoIP    = constant{"0", 0}
	ipprotoTCP   = constant{"IPPROTO_TCP", 6}
	ipprotoMPTCP = constant{"IPPROTO_MPTCP", 262}
	netlinkRoute = constant{"NETLINK_ROUTE", 0}
	netlinkAudit = constant{"NETLINK_AUDIT", 9}

	msgFastopen = constant{"MSG_FASTOPEN", 0x20000000}

	tcpFastopen        = constant{"TCP_FASTOPEN", 23}
	tcpFastopenConnect = constant{"TCP_FASTOPEN_CONNECT", 30}
	tcpULP             = constant{"TCP_ULP", 31}
)

// The arguments of socket(2) and socketpair(2).
func domain(v ...constant) condition   { return oneOf(0, "domain", v...) }
func protocol(v ...constant) condition { return oneOf(2, "protocol", v...) }
func sockType(v ...constant) condition {
	return condition{arg: 1, name: "type", mask: sockTypeMask, values: v}
}
func notSockType(v ...constant) condition {
	return condition{arg: 1, name: "type", mask: sockTypeMask, values: v, except: true}
}

// socketRules are the rules of o.Network, o.Unix and o.Listen.
func socketRules(o Options) []rule {
	rules := append(socketCallRules(o), socketpairRules(o)...)
	switch {
	case o.Network == NetworkOff && o.Unix == UnixClosed:
		// No socket that these work on can be made. They are closed for the one
		// that came as standard input: connect(2) to AF_UNSPEC would free a
		// connected TCP socket to be connected to somewhere else.
		rules = append(rules, always("sockets", eacces, "connect", "bind", "listen")...)
	case o.Network == NetworkTCP:
		if !o.Listen {
			rules = append(rules, always("sockets", eacces, "listen")...)
		}
		rules = append(rules, plainTCPRules()...)
	}
	return rules
}

func socketCallRules(o Options) []rule {
	var rules []rule
	add := func(a answer, when ...condition) { rules = append(rules, rule{"sockets", "socket", when, a}) }

	if o.Network == NetworkUnfiltered {
		if o.Unix == UnixClosed {
			add(eacces, domain(afUnix))
		}
		return rules
	}
	if o.Unix == UnixOpen {
		add(allow, domain(afUnix))
	}
	// Programs that change users give up unless the kernel says that it was built
	// without audit.
	add(eprotonosupport, domain(afNetlink), protocol(netlinkAudit))
	switch o.Network {
	case NetworkTCP:
		// Programs that try MPTCP first take this for a kernel without it.
		add(eprotonosupport, domain(afInet, afInet6), protocol(ipprotoMPTCP))
		add(allow, domain(afInet, afInet6), sockType(sockStream), protocol(ipprotoIP, ipprotoTCP))
	case NetworkAll:
		add(allow, domain(afInet, afInet6), notSockType(sockPacket))
		add(allow, domain(afNetlink), protocol(netlinkRoute))
	}
	add(eacces)
	return rules
}

func socketpairRules(o Options) []rule {
	var rules []rule
	add := func(a answer, when ...condition) { rules = append(rules, rule{"sockets", "socketpair", when, a}) }

	switch {
	case o.Network == NetworkUnfiltered && o.Unix == UnixOpen:
	case o.Network == NetworkUnfiltered:
		add(allow, domain(afUnix), sockType(sockStream, sockSeqpacket))
		add(eacces, domain(afUnix))
	case o.Unix == UnixOpen:
		add(allow, domain(afUnix))
		add(eacces) // TIPC has pairs, too
	default:
		add(allow, domain(afUnix), sockType(sockStream, sockSeqpacket))
		add(eacces)
	}
	return rules
}

// plainTCPRules keep a TCP socket from leaving Landlock's port rules.
func plainTCPRules() []rule {
	fastOpen := func(name string, flags int) rule {
		// Sending with this flag connects, past Landlock's hook on connect(2) in
		// many kernels. EOPNOTSUPP is the answer where fast open is turned off.
		// The flags in a message header in memory are not taken from there.
		return rule{"sockets", name, []condition{anyBit(flags, "flags", msgFastopen)}, eopnotsupp}
	}
	return []rule{
		fastOpen("sendto", 3),
		fastOpen("sendmsg", 2),
		fastOpen("sendmmsg", 3),
		{"sockets", "setsockopt", []condition{
			oneOf(1, "level", ipprotoTCP), oneOf(2, "optname", tcpFastopen, tcpFastopenConnect),
		}, eopnotsupp},
		// The upper layer protocol "smc" turns a TCP socket into an SMC one
		// (Linux 5.17). The price is TLS in the kernel. ENOENT means that the
		// kernel has no such protocol.
		{"sockets", "setsockopt", []condition{oneOf(1, "level", ipprotoTCP), oneOf(2, "optname", tcpULP)}, enoent},
	}
}
