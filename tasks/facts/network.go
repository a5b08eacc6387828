package facts

import (
	"context"
	"net"
	"os"
	"strings"

	"deployer/engine"
)

// Network describes interfaces, routes and name servers.
type Network struct {
	Interfaces map[string]Interface `json:"interfaces"` // by name
	DNS        DNS                  `json:"dns"`
}

// Interface is a network interface.
type Interface struct {
	MAC       string   `json:"mac"` // empty for loopback and tunnels
	MTU       int      `json:"mtu"` // bytes
	Up        bool     `json:"up"`
	Loopback  bool     `json:"loopback"`
	Addresses []string `json:"addresses"` // with the length of their prefix: 192.0.2.1/24
}

// DNS is the content of /etc/resolv.conf.
type DNS struct {
	Servers []string `json:"servers"`
	Search  []string `json:"search"`
}

func network(_ context.Context, sys engine.System) (any, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	out := Network{Interfaces: map[string]Interface{}}
	for _, i := range all {
		one := Interface{MAC: i.HardwareAddr.String(), MTU: i.MTU, Up: i.Flags&net.FlagUp != 0, Loopback: i.Flags&net.FlagLoopback != 0, Addresses: []string{}}
		addresses, err := i.Addrs()
		if err != nil {
			continue // it was removed meanwhile
		}
		for _, a := range addresses {
			one.Addresses = append(one.Addresses, a.String())
		}
		out.Interfaces[i.Name] = one
	}
	text, _ := os.ReadFile(sys.Path("/etc/resolv.conf")) // a host without one has no name servers
	out.DNS = resolvers(string(text))
	return out, nil
}

// resolvers parses resolv.conf(5).
func resolvers(text string) DNS {
	out := DNS{Servers: []string{}, Search: []string{}}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		switch f[0] {
		case "nameserver":
			out.Servers = append(out.Servers, f[1])
		case "search", "domain": // the last one counts
			out.Search = f[1:]
		}
	}
	return out
}
