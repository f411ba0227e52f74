package host

import (
	"net"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/pinfold/pinfold/core"
)

func TestNetworkModes(t *testing.T) {
	granted, other := accepting(t, "tcp4", "127.0.0.1:0"), accepting(t, "tcp4", "127.0.0.1:0")
	udp, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	outside := writeFile(t, filepath.Join(t.TempDir(), "secret"), "secret")
	_, text, _ := net.SplitHostPort(granted.Addr().String())
	port, _ := strconv.Atoi(text)
	modes := []struct {
		name    string
		network core.NetworkPolicy
		// granted, other, listening, UDP, reading outside
		want []string
	}{
		{"none", core.NetworkPolicy{Mode: core.NetworkNone}, []string{"denied", "denied", "denied", "denied", "denied"}},
		{"one port", core.NetworkPolicy{Mode: core.NetworkPorts, Connect: []uint16{uint16(port)}}, []string{"ok", "denied", "denied", "denied", "denied"}},
		{"listening", core.NetworkPolicy{Mode: core.NetworkPorts, Bind: []uint16{0}}, []string{"denied", "denied", "ok", "denied", "denied"}},
		{"all", core.NetworkPolicy{Mode: core.NetworkAll}, []string{"ok", "ok", "ok", "ok", "denied"}},
	}
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			p := forAgents(core.WorkspaceWrite(t.TempDir()))
			p.Network = mode.network
			s := open(t, sharedFor(t), p)
			got := try(t, s,
				[]string{"tcp", granted.Addr().String()}, []string{"tcp", other.Addr().String()}, []string{"listen", "127.0.0.1:0"},
				[]string{"udp", udp.LocalAddr().String(), mode.name}, []string{"read", outside})
			for i, what := range []string{"the granted port", "another port", "listening", "UDP", "reading outside"} {
				if got[i] != mode.want[i] {
					t.Errorf("%s: %s, want %s", what, got[i], mode.want[i])
				}
			}
			if arrived := received(t, udp, mode.name); arrived != (mode.want[3] == "ok") {
				t.Errorf("the datagram arrived: %v", arrived)
			}
		})
	}
}
