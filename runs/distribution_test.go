package runs

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine/spread"
	"deployer/engine/spread/tracker"
	"deployer/inventory"
)

// TestPeerHosts checks the addresses and racks of hosts: the label of the rack, then of the zone, then
// the network.
func TestPeerHosts(t *testing.T) {
	inv, err := inventory.Parse("i.yaml", []byte(`
hosts:
  rack: {address: 10.0.0.1, labels: {topology.kubernetes.io/rack: r7, topology.kubernetes.io/zone: z1}}
  zone: {address: 10.0.0.2, labels: {topology.kubernetes.io/zone: z1}}
  net: {address: 203.0.113.9, node_address: 10.0.5.77}
  six: {address: "2001:db8::17"}
  dual: {address: 10.0.0.5, node_address: "10.0.6.1,fd00::1"}
  named: {address: ssh.example}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []tracker.Host{
		{Host: spread.Host{Name: "rack", Rack: "r7"}, Address: "10.0.0.1"},
		{Host: spread.Host{Name: "zone", Rack: "z1"}, Address: "10.0.0.2"},
		{Host: spread.Host{Name: "net", Rack: "10.0.5.0/24"}, Address: "10.0.5.77"},
		{Host: spread.Host{Name: "six", Rack: "2001:db8::/64"}, Address: "2001:db8::17"},
		{Host: spread.Host{Name: "dual", Rack: "10.0.6.0/24"}, Address: "10.0.6.1"},
	}
	if diff := cmp.Diff(want, peerHosts(inv, inv.Names())); diff != "" {
		t.Errorf("(- want, + got)\n%s", diff)
	}
}
