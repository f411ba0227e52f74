package landlock

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pinfold/pinfold/core"
)

// outside are the servers of the host that confined programs try to reach.
type outside struct {
	granted, other string // TCP ports, on 127.0.0.1 and ::1
	udp            string
	abstract       string // a stream socket
	path           string // a stream socket
	datagram       string
}

func serveOutside(t *testing.T) outside {
	t.Helper()
	dir := t.TempDir()
	o := outside{
		abstract: "@pinfold-test-" + core.NewSessionID().String(),
		path:     filepath.Join(dir, "stream"),
		datagram: filepath.Join(dir, "datagram"),
	}
	o.granted, o.other = serveTCP(t), serveTCP(t)
	udp, err := net.ListenPacket("udp4", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { udp.Close() })
	o.udp = port(udp.LocalAddr())
	for _, address := range []string{o.abstract, o.path} {
		l, err := net.Listen("unix", address)
		must(t, err)
		accept(t, l)
	}
	datagram, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: o.datagram, Net: "unixgram"})
	must(t, err)
	t.Cleanup(func() { datagram.Close() })
	return o
}

// serveTCP serves one port on both loopback addresses.
func serveTCP(t *testing.T) string {
	t.Helper()
	l4, err := net.Listen("tcp4", "127.0.0.1:0")
	must(t, err)
	accept(t, l4)
	p := port(l4.Addr())
	l6, err := net.Listen("tcp6", "[::1]:"+p)
	if err != nil {
		t.Skipf("the loopback has no ::1: %v", err)
	}
	accept(t, l6)
	return p
}

func port(a net.Addr) string {
	_, p, _ := net.SplitHostPort(a.String())
	return p
}

// accept takes connections and drops them until the test ends.
func accept(t *testing.T, l net.Listener) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
}

// freePort is a port that nobody serves.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return port(l.Addr())
}

func toPort(t *testing.T, s string) uint16 {
	t.Helper()
	var n uint16
	_, err := fmt.Sscan(s, &n)
	must(t, err)
	return n
}

// netTry is a try under each network mode.
type netTry struct{ op, free, none, ports, all string }

var netTries = []netTry{
	{"tcp4 {granted}", "ok", "EACCES", "ok", "ok"},
	{"tcp6 {granted}", "ok", "EACCES", "ok", "ok"},
	{"tcp4 {other}", "ok", "EACCES", "EACCES", "ok"},
	{"tcp6 {other}", "ok", "EACCES", "EACCES", "ok"},
	{"mptcp {other}", "", "EACCES", "EPROTONOSUPPORT", ""},
	{"mptcp {granted}", "", "EACCES", "EPROTONOSUPPORT", ""},
	{"fastopen {other}", "", "EACCES", "ENOTSUP", ""},
	{"udp {udp}", "ok", "EACCES", "EACCES", "ok"},
	{"bind4 {bind}", "ok", "EACCES", "ok", "ok"},
	{"serve4 {bind}", "ok", "EACCES", "ok", "ok"},
	{"bind4 {free}", "ok", "EACCES", "EACCES", "ok"},
	{"raw x", "", "EACCES", "EACCES", ""},
	{"ping x", "", "EACCES", "EACCES", ""},
	{"packet x", "", "EACCES", "EACCES", "EACCES"},
	{"netlink x", "ok", "EACCES", "EACCES", "ok"},
	{"iouring x", "", "ENOSYS", "ENOSYS", "ENOSYS"},

	// Unix sockets are closed in every mode.
	{"unix {abstract}", "ok", "EACCES", "EACCES", "EACCES"},
	{"unix {path}", "ok", "EACCES", "EACCES", "EACCES"},
	{"pairsend {datagram}", "ok", "EACCES", "EACCES", "EACCES"},
	{"pairsend {abstract}", "ECONNREFUSED", "EACCES", "EACCES", "EACCES"},
	{"socketpair x", "ok", "ok", "ok", "ok"},
}

func TestNetwork(t *testing.T) {
	needLandlock(t, 4)
	o := serveOutside(t)
	bind, free := freePort(t), freePort(t)
	words := strings.NewReplacer("{granted}", o.granted, "{other}", o.other, "{udp}", o.udp, "{abstract}", o.abstract,
		"{path}", o.path, "{datagram}", o.datagram, "{bind}", bind, "{free}", free)
	var ops [][]string
	for _, n := range netTries {
		ops = append(ops, strings.Fields(words.Replace(n.op)))
	}
	policy := func(n core.NetworkPolicy) *core.Plan {
		p := workspacePolicy(t, t.TempDir())
		p.Network = n
		return mustPlan(t, New(), p)
	}
	granted := core.NetworkPolicy{Mode: core.NetworkPorts, Connect: []uint16{toPort(t, o.granted)}, Bind: []uint16{toPort(t, bind)}}
	for _, run := range []struct {
		name string
		plan *core.Plan
		want func(netTry) string
	}{
		{"unconfined", nil, func(n netTry) string { return n.free }},
		{"none", policy(core.NetworkPolicy{Mode: core.NetworkNone}), func(n netTry) string { return n.none }},
		{"ports", policy(granted), func(n netTry) string { return n.ports }},
		{"all", policy(core.NetworkPolicy{Mode: core.NetworkAll}), func(n netTry) string { return n.all }},
	} {
		t.Run(run.name, func(t *testing.T) {
			for i, got := range doOps(t, run.plan, ops) {
				if want := run.want(netTries[i]); want != "" && got != want {
					t.Errorf("%s: %s, want %s", netTries[i].op, got, want)
				}
			}
		})
	}
}

// TestListenWithoutBind: a socket that listens unbound takes a port that no rule
// sees, so listening is closed where no port is granted to bind, and what is
// granted with a port is reported as partial.
func TestListenWithoutBind(t *testing.T) {
	needLandlock(t, 4)
	plan := func(bind ...uint16) *core.Plan {
		p := workspacePolicy(t, t.TempDir())
		p.Network = core.NetworkPolicy{Mode: core.NetworkPorts, Connect: []uint16{1}, Bind: bind}
		return mustPlan(t, New(), p)
	}
	for _, c := range []struct {
		name  string
		plan  *core.Plan
		want  string
		level core.Level
	}{
		{"no port to bind", plan(), "EACCES", core.Enforced},
		{"a port to bind", plan(1), "ok", core.Partial},
		{"any port to bind", plan(0), "ok", core.Enforced},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := doOps(t, c.plan, [][]string{{"listen"}}); got[0] != c.want {
				t.Errorf("listen: %s, want %s", got[0], c.want)
			}
			if f := c.plan.Enforcement.Dimension(core.Network); f == nil || f.Level != c.level {
				t.Errorf("the network is reported as %+v, want %v", f, c.level)
			}
		})
	}
}

// TestUnixPaths: where paths of sockets can be granted, the rest stays out of reach
// by Landlock alone.
func TestUnixPaths(t *testing.T) {
	needLandlock(t, firstWith(pathUnix).version)
	o := serveOutside(t)
	ws := t.TempDir()
	p := workspacePolicy(t, ws)
	p.Unix.Connect = []string{o.path}
	got := doOps(t, mustPlan(t, New(), p), [][]string{
		{"unix", o.path}, {"unix", o.abstract}, {"pairsend", o.datagram}, {"unixserve", filepath.Join(ws, "own")},
	})
	for i, want := range []string{"ok", "EPERM", "EACCES", "ok"} {
		if got[i] != want {
			t.Errorf("operation %d: %s, want %s", i, got[i], want)
		}
	}
}
