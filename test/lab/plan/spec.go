// Package plan computes the parts of a lab without access to the machine: the hosts with
// their addresses, the names of all resources on the machine, and the contents of the
// inventory and the SSH configuration.
package plan

import (
	"fmt"
	"net/netip"
	"regexp"
)

// Spec is the wanted lab: its name, and the number of hosts of each kind.
type Spec struct {
	Name    string // name of the lab; lower-case letters, digits and dashes, at most 63
	Masters int    // m1, m2, ...
	Minions int    // n1, n2, ...
	Etcd    int    // e1, e2, ...: hosts for etcd only; with none the masters run etcd
	Proxies int    // p1, p2, ...
	Hosts   int    // h1, h2, ...: spare hosts without a role in the inventory
}

// Host is one machine of the lab.
type Host struct {
	Name    string     `json:"name"`
	Role    string     `json:"role,omitempty"` // role in the inventory; empty for a spare host
	Address netip.Addr `json:"address"`
}

// IPv6 is the host's IPv6 address: fd00:172:31::11 for 172.31.0.11.
func (h Host) IPv6() netip.Addr { return ipv6(h.Address) }

// MaxHosts is the number of addresses from firstHost to the end of a lab's /24.
const MaxHosts = 200

// firstHost is the last byte of the first host's address. Addresses below it are for the
// controller and for tests.
const firstHost = 11

var nameRule = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// CheckName returns an error for an invalid name of a lab.
func CheckName(name string) error {
	if !nameRule.MatchString(name) {
		return fmt.Errorf("lab name %q: use 1 to 63 lower-case letters, digits and inner dashes", name)
	}
	return nil
}

// Layout returns the hosts of the lab with their addresses, in an order that depends on
// the Spec only.
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
		return nil, fmt.Errorf("lab %s has no hosts: request some, such as --masters 1", s.Name)
	}
	return hosts, nil
}

// Subnet is the network of every lab; network namespaces keep labs apart.
func Subnet() netip.Prefix { return netip.MustParsePrefix("172.31.0.0/24") }

// Controller is the address of the lab's own namespace, where deployer runs,
// and the default gateway of the hosts. No route leads out of the lab.
func Controller() netip.Addr { return netip.MustParseAddr("172.31.0.1") }

// SubnetIPv6 is the IPv6 network of every lab.
func SubnetIPv6() netip.Prefix { return netip.MustParsePrefix("fd00:172:31::/64") }

// ControllerIPv6 is the IPv6 address of the lab's own namespace.
func ControllerIPv6() netip.Addr { return ipv6(Controller()) }

// ipv6 returns the IPv6 address that ends in the decimal digits of the last byte of a.
func ipv6(a netip.Addr) netip.Addr {
	b := a.As4()
	return netip.MustParseAddr(fmt.Sprintf("fd00:172:31::%d", b[3]))
}

func hostAddress(index int) netip.Addr {
	a := Subnet().Addr().As4()
	a[3] = byte(firstHost + index)
	return netip.AddrFrom4(a)
}

// MAC returns the hardware address for an address of the lab. It is locally administered
// and the same after every boot, so that neighbours' ARP entries stay valid when a host
// reboots or a bridge port is replaced.
func MAC(a netip.Addr) string {
	b := a.As4()
	return fmt.Sprintf("02:1a:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3])
}
