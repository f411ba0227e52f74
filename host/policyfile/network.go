package policyfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pinfold/pinfold/core"
)

var networkModes = map[string]core.NetworkMode{
	"none": core.NetworkNone, "ports": core.NetworkPorts, "all": core.NetworkAll,
}

func (b *builder) network(d *document, p *core.Policy) error {
	n := &d.Network
	ports := len(n.Connect)+len(n.Bind) > 0
	if n.Mode != nil {
		mode, ok := networkModes[*n.Mode]
		if !ok {
			return b.wrong("network.mode", `use "none", "ports" or "all"`, "there is no network mode %q", *n.Mode)
		}
		if ports && mode != core.NetworkPorts {
			return b.wrong("network.mode", `ports are listed only in the mode "ports"`, "the network mode is %q, and ports are listed", *n.Mode)
		}
		p.Network.Mode = mode
		if mode != core.NetworkAll && !p.Requires(core.Network) {
			p.Require = append(p.Require, core.Network)
		}
	}
	if !ports {
		return nil
	}
	if p.Network.Mode == core.NetworkUnconfined {
		return b.wrong("network", `add mode = "ports"`, "the preset %q leaves the network open, so there is nothing to add ports to", p.Name)
	}
	p.Network.Mode = core.NetworkPorts
	var err error
	if p.Network.Connect, err = b.ports("network.connect", n.Connect, 1); err == nil {
		p.Network.Bind, err = b.ports("network.bind", n.Bind, 0)
	}
	return err
}

func (b *builder) ports(key string, numbers []int64, lowest int64) ([]uint16, error) {
	var list []uint16
	for i, n := range numbers {
		if n < lowest || n > 65535 {
			return nil, b.wrong(fmt.Sprintf("%s[%d]", key, i), fmt.Sprintf("a TCP port is a number from %d to 65535", lowest), "%d is no port", n)
		}
		if !slices.Contains(list, uint16(n)) {
			list = append(list, uint16(n))
		}
	}
	return list, nil
}

func (b *builder) unix(d *document, p *core.Policy) error {
	for i, path := range d.Unix.Connect {
		key := fmt.Sprintf("unix.connect[%d]", i)
		switch {
		case p.Unix.Mode == core.UnixUnconfined:
			return b.wrong(key, "use another preset", "the preset %q does not confine unix sockets, so there is nothing to add to", p.Name)
		case path == "":
			return b.wrong(key, "", "the path is empty")
		case strings.ContainsRune(path, 0):
			return b.wrong(key, "", "the path %q has a NUL byte in it", path)
		}
		p.Unix.Connect = append(p.Unix.Connect, path)
	}
	return nil
}
