package cluster

import (
	"net/netip"
	"slices"
)

// VirtualIPSpec is the `cluster.api.virtual_ip:` section.
type VirtualIPSpec struct {
	Address     string   `yaml:"address" doc:"Address of the API that moves to another host within 3 s when its host fails, by keepalived. It is a free address in the network of the hosts that may hold it: those of role proxy, or the masters when there are none. Clients outside of the cluster use it, and the API servers' certificates are valid for it. Default: none."`
	Former      []string `yaml:"former" doc:"Addresses that clients still use after a change of address: they stay beside the new one, and the certificates are valid for them, until they are taken out. The address of a cluster in use changes only with the one that it has in this list."`
	Interface   string   `yaml:"interface" doc:"Network interface that gets the address on its host; default: the one with the node's address."`
	RouterID    int      `yaml:"router_id" default:"51" doc:"Virtual router id of VRRP, from 1 to 255: another one than those of other users of VRRP in the network."`
	WitnessPort int      `yaml:"witness_port" default:"8402" doc:"Port on which hosts ask each other which of them has the address; on the hosts that may hold it and the masters."`
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
	Former      []string   `json:"former"`       // former addresses that the same host has, in canonical form
	Prefixes    []string   `json:"prefixes"`     // all addresses with the length of a single one, such as 10.0.0.100/32
	Port        int        `json:"port"`         // port of the API at the address
	HostPort    string     `json:"host_port"`    // address and port, with brackets around an IPv6 address
	URL         string     `json:"url"`          // URL of the API at the address; empty for none
	OldestURL   string     `json:"oldest_url"`   // URL of the API at the oldest address; that of address without a former one
	Interface   string     `json:"interface"`    // interface that gets the address; empty: the one with the node's address
	RouterID    int        `json:"router_id"`    // virtual router id of VRRP
	WitnessPort int        `json:"witness_port"` // port of the witnesses
	Witness     string     `json:"witness"`      // address and port at which witnesses ask the host that has the address for its name: the oldest of its addresses, which that host has before and after a change
	Names       []string   `json:"names"`        // the same for all addresses
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
	out := VirtualIP{
		RouterID: s.RouterID, WitnessPort: s.WitnessPort, Former: []string{}, Prefixes: []string{}, Names: []string{},
		Holders: []Endpoint{}, Witnesses: []Endpoint{},
	}
	if s.Address == "" {
		return out
	}
	oldest := ""
	for i, text := range append([]string{s.Address}, s.Former...) {
		address := netip.MustParseAddr(text).Unmap() // Validate has parsed it
		if i > 0 {
			out.Former = append(out.Former, address.String())
		}
		oldest = address.String()
		out.Prefixes = append(out.Prefixes, netip.PrefixFrom(address, address.BitLen()).String())
		out.Names = append(out.Names, hostPort(address.String(), s.WitnessPort))
	}
	out.Address, out.Interface = netip.MustParseAddr(s.Address).Unmap().String(), s.Interface
	out.Witness = out.Names[len(out.Names)-1]
	out.Port = r.spec.API.Port
	if len(r.place.proxies) > 0 {
		out.Port = r.spec.Proxy.Port
	}
	out.HostPort, out.URL = hostPort(out.Address, out.Port), httpsURL(out.Address, out.Port)
	out.OldestURL = httpsURL(oldest, out.Port)
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
