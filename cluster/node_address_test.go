package cluster_test

import (
	"net/netip"
	"strings"
	"testing"

	"deployer/cluster"
)

// up returns an interface that is up.
func up(name string, addresses ...string) cluster.Interface {
	i := cluster.Interface{Name: name, Up: true, Loopback: name == "lo"}
	for _, a := range addresses {
		i.Addresses = append(i.Addresses, netip.MustParsePrefix(a))
	}
	return i
}

func TestChooseNodeAddress(t *testing.T) {
	lo, down := up("lo", "127.0.0.1/8", "10.9.9.9/32"), up("eth9", "10.0.0.99/8")
	down.Up = false
	eth0 := up("eth0", "192.168.7.11/24", "fe80::1/64")
	for name, tt := range map[string]struct {
		interfaces    []cluster.Interface
		network, name string
		want, refused string
	}{
		"by network":                 {[]cluster.Interface{lo, eth0, up("eth1", "10.0.0.11/24"), down}, "10.0.0.0/8", "", "10.0.0.11", ""},
		"by interface":               {[]cluster.Interface{lo, eth0, up("eth1", "10.0.0.11/24", "fd00::b/64")}, "", "eth1", "10.0.0.11", ""},
		"by both":                    {[]cluster.Interface{eth0, up("eth1", "10.0.0.11/24"), up("eth2", "10.1.0.11/24")}, "10.0.0.0/8", "eth2", "10.1.0.11", ""},
		"beside an address of VRRP":  {[]cluster.Interface{up("eth1", "10.0.0.100/32", "10.0.0.11/24")}, "10.0.0.0/8", "", "10.0.0.11", ""},
		"the only one of its device": {[]cluster.Interface{up("eth0", "10.128.0.2/32", "fe80::1/64")}, "10.0.0.0/8", "", "10.128.0.2", ""},
		"beside networks of pods": {[]cluster.Interface{up("bond0", "10.0.0.11/24"), up("docker0", "10.17.0.1/16"), up("cni0", "10.244.1.1/24"),
			up("kube-ipvs0", "10.96.0.1/32"), up("cali12", "10.244.1.7/32"), up("dummy0", "10.3.3.3/24"), up("br-1a2b", "10.18.0.1/16")}, "10.0.0.0/8", "", "10.0.0.11", ""},
		"a bridge that is named": {[]cluster.Interface{up("virbr1", "10.0.0.11/24"), up("eth1", "10.1.0.11/24")}, "", "virbr1", "10.0.0.11", ""},
		"IPv6":                   {[]cluster.Interface{eth0, up("eth1", "10.0.0.11/24", "fd00::b/64")}, "fd00::/8", "", "fd00::b", ""},
		"IPv6 alone":             {[]cluster.Interface{up("eth1", "fd00::b/64", "fe80::2/64")}, "", "eth1", "fd00::b", ""},
		"two":                    {[]cluster.Interface{up("eth1", "10.0.0.11/24"), up("eth2", "10.1.0.11/24")}, "10.0.0.0/8", "", "", "several: 10.0.0.11 (eth1), 10.1.0.11 (eth2)"},
		"two of one interface":   {[]cluster.Interface{up("eth1", "10.0.0.11/24", "10.0.0.12/24")}, "", "eth1", "", "several: 10.0.0.11 (eth1), 10.0.0.12 (eth1)"},
		"none":                   {[]cluster.Interface{lo, eth0, down}, "10.0.0.0/8", "", "", "no such address; it has 10.0.0.99/8 (eth9), 10.9.9.9/32 (lo), 192.168.7.11/24 (eth0)"},
		"only of VRRP":           {[]cluster.Interface{up("eth0", "192.168.7.11/24", "10.0.0.100/32")}, "10.0.0.0/8", "", "", "it has 10.0.0.100/32 (eth0), 192.168.7.11/24 (eth0)"},
		"no such interface":      {[]cluster.Interface{eth0}, "", "eth1", "", "it has 192.168.7.11/24 (eth0)"},
		"nothing":                {nil, "10.0.0.0/8", "", "", "and no other one"},
	} {
		t.Run(name, func(t *testing.T) {
			network, _ := netip.ParsePrefix(tt.network)
			got, err := cluster.ChooseNodeAddress(tt.interfaces, network, tt.name)
			switch {
			case tt.refused != "" && (err == nil || !strings.Contains(err.Error(), tt.refused)):
				t.Errorf("got %v, %v, want an error with %q", got, err, tt.refused)
			case tt.refused == "" && (err != nil || got.String() != tt.want):
				t.Errorf("got %v, %v, want %s", got, err, tt.want)
			}
		})
	}
}
