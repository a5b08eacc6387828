package cluster

import (
	"net/netip"
	"slices"
)

// VirtualIPSpec is the `cluster.api.virtual_ip:` section.
type VirtualIPSpec struct {
	Address     string `yaml:"address" doc:"Address of the API that moves to another host within 3 s when its host fails, by keepalived. It is a free address in the network of the hosts that may hold it: those of role proxy, or the masters when there are none. Clients outside of the cluster use it, and the API servers' certificates are valid for it. Default: none."`
	Interface   string `yaml:"interface" doc:"Network interface that gets the address on its host; default: the one with the node's address."`
	RouterID    int    `yaml:"router_id" default:"51" doc:"Virtual router id of VRRP, from 1 to 255: another one than those of other users of VRRP in the network."`
	WitnessPort int    `yaml:"witness_port" default:"8402" doc:"Port on which hosts ask each other which of them has the address; on the hosts that may hold it and the masters."`
}

// The units of the virtual address.
const (
	unitWitness    = "deployer-virtual-ip.service"
	unitKeepalived = "deployer-keepalived.service"
)

// minWitnesses is the number of witnesses with which the majority survives the loss of one.
const minWitnesses = 3

// VirtualIP is the address of the API that moves. Its lists are empty without one.
type VirtualIP struct {
	Address     string     `json:"address"`      // the address in canonical form; empty for none
	Prefix      string     `json:"prefix"`       // the address with the length of a single one, such as 10.0.0.100/32
	Port        int        `json:"port"`         // port of the API at the address
	HostPort    string     `json:"host_port"`    // address and port, with brackets around an IPv6 address
	URL         string     `json:"url"`          // URL of the API at the address; empty for none
	Interface   string     `json:"interface"`    // interface that gets the address; empty: the one with the node's address
	RouterID    int        `json:"router_id"`    // virtual router id of VRRP
	WitnessPort int        `json:"witness_port"` // port of the witnesses
	Witness     string     `json:"witness"`      // the address and the port of the witnesses, where the host that has the address gives its name
	Holders     []Endpoint `json:"holders"`      // the API on the hosts that may hold the address, in inventory order: a load balancer or an API server
	Witnesses   []Endpoint `json:"witnesses"`    // hosts whose majority decides, with the port of their witness
	Majority    int        `json:"majority"`     // number of witnesses that must see no other host with the address
}

// holders returns the hosts that may hold the virtual address: the load balancers or, without any,
// the masters.
func (p placement) holders() []string {
	if len(p.proxies) > 0 {
		return p.proxies
	}
	return p.masters
}

// witnesses returns the hosts that say which host has the virtual address, in inventory order: those
// that may hold it, the masters and, while these are fewer than three, etcd hosts and minions. Two
// alone could not tell a host that is dead from a link that is cut.
func (p placement) witnesses(hosts []Host) []string {
	chosen := slices.Concat(p.holders(), p.masters)
	for _, name := range slices.Concat(p.etcd, p.minions) {
		if len(unique(chosen)) < minWitnesses {
			chosen = append(chosen, name)
		}
	}
	out := []string{}
	for _, h := range hosts {
		if slices.Contains(chosen, h.Name) {
			out = append(out, h.Name)
		}
	}
	return out
}

// virtualIP returns the address that moves.
func (r *resolver) virtualIP() VirtualIP {
	s := r.spec.API.VirtualIP
	out := VirtualIP{RouterID: s.RouterID, WitnessPort: s.WitnessPort, Holders: []Endpoint{}, Witnesses: []Endpoint{}}
	if s.Address == "" {
		return out
	}
	address := netip.MustParseAddr(s.Address).Unmap() // Validate has parsed it
	out.Address, out.Interface = address.String(), s.Interface
	out.Prefix = netip.PrefixFrom(address, address.BitLen()).String()
	out.Port = r.spec.API.Port
	if len(r.place.proxies) > 0 {
		out.Port = r.spec.Proxy.Port
	}
	out.HostPort, out.URL = hostPort(out.Address, out.Port), httpsURL(out.Address, out.Port)
	out.Witness = hostPort(out.Address, s.WitnessPort)
	out.Holders = r.endpoints(r.place.holders(), out.Port)
	out.Witnesses = r.endpoints(r.place.witnesses(r.hosts), s.WitnessPort)
	out.Majority = len(out.Witnesses)/2 + 1
	return out
}

// Warning returns the reason why the address cannot move; empty when it can.
func (v VirtualIP) Warning() string {
	if len(v.Holders) != 1 {
		return ""
	}
	return "cluster.api.virtual_ip: " + v.Holders[0].Name + " alone may hold " + v.Address + ", so the address is gone with that host: add hosts of role proxy, or masters"
}

// isIn reports whether a host is one of the endpoints.
func isIn(list []Endpoint, host string) bool {
	return slices.ContainsFunc(list, func(e Endpoint) bool { return e.Name == host })
}

// virtualPriority returns the priority of a host in VRRP: hosts that want the address at one time give
// way to those before them in the inventory. 255 would be that of a fixed owner of the address. A host
// waits for (256 - priority)/256 of an advertisement longer (RFC 5798, Skew_Time); with priorities that
// differ by one, two hosts take the address at one time before they hear each other.
func (r *resolver) virtualPriority(host string) int {
	i := slices.Index(r.place.holders(), host)
	if r.spec.API.VirtualIP.Address == "" || i < 0 {
		return 0
	}
	return max(1, 250-80*i)
}
