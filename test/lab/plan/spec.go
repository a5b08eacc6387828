// Package plan decides, without touching the machine, what a lab consists of:
// which hosts with which addresses, what every resource on the machine is
// called, and what the inventory and the SSH configuration of the lab say.
package plan

import (
	"fmt"
	"net/netip"
	"regexp"
)

// Spec is the wish: how many hosts of which kind.
type Spec struct {
	Name    string // of the lab; lower-case letters, digits and dashes, at most 63
	Masters int    // m1, m2, ...
	Minions int    // n1, n2, ...
	Etcd    int    // e1, e2, ...: hosts of their own for etcd; with none the masters carry it
	Proxies int    // p1, p2, ...
	Hosts   int    // h1, h2, ...: spare hosts that the inventory gives no role
}

// Host is one machine of the lab.
type Host struct {
	Name    string     `json:"name"`
	Role    string     `json:"role,omitempty"` // role in the inventory; empty for a spare host
	Address netip.Addr `json:"address"`
}

// MaxHosts is how many hosts fit behind FirstHost in a lab's /24.
const MaxHosts = 200

// firstHost is the last byte of the first host's address; below it there is
// room for the controller and for addresses that tests make up.
const firstHost = 11

var nameRule = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// CheckName says whether a lab may be called so.
func CheckName(name string) error {
	if !nameRule.MatchString(name) {
		return fmt.Errorf("lab name %q: use 1 to 63 lower-case letters, digits and inner dashes", name)
	}
	return nil
}

// Layout lists the hosts of the lab in a fixed order with their addresses.
// The same Spec always gives the same list.
func (s Spec) Layout() ([]Host, error) {
	if err := CheckName(s.Name); err != nil {
		return nil, err
	}
	kinds := []struct {
		prefix, role string
		count        int
	}{
		{"m", "master", s.Masters},
		{"n", "minion", s.Minions},
		{"e", "etcd", s.Etcd},
		{"p", "proxy", s.Proxies},
		{"h", "", s.Hosts},
	}
	var hosts []Host
	for _, k := range kinds {
		if k.count < 0 {
			return nil, fmt.Errorf("lab %s: %d hosts of kind %q", s.Name, k.count, k.prefix)
		}
		if len(hosts)+k.count > MaxHosts {
			return nil, fmt.Errorf("lab %s: more than %d hosts do not fit its subnet %s", s.Name, MaxHosts, Subnet())
		}
		for i := range k.count {
			hosts = append(hosts, Host{
				Name:    fmt.Sprintf("%s%d", k.prefix, i+1),
				Role:    k.role,
				Address: hostAddress(len(hosts)),
			})
		}
	}
	if len(hosts) == 0 {
		return nil, fmt.Errorf("lab %s: no hosts asked for", s.Name)
	}
	return hosts, nil
}

// Subnet is the network of every lab; network namespaces keep labs apart.
func Subnet() netip.Prefix { return netip.MustParsePrefix("172.31.0.0/24") }

// Controller is the address of the lab's own namespace, where deployer runs,
// and the default gateway of the hosts. No route leads on from there.
func Controller() netip.Addr { return netip.MustParseAddr("172.31.0.1") }

func hostAddress(index int) netip.Addr {
	a := Subnet().Addr().As4()
	a[3] = byte(firstHost + index)
	return netip.AddrFrom4(a)
}

// MAC is the hardware address that belongs to an address of the lab: locally
// administered and the same after every boot, so that neighbours' ARP entries
// stay true when a host comes back or a bridge port is replaced.
func MAC(a netip.Addr) string {
	b := a.As4()
	return fmt.Sprintf("02:1a:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3])
}
