package cluster

import (
	"fmt"
	"net/netip"
	"testing"
)

// TestRouterIDs: router ids are unique whatever the addresses are, the id of an IPv4
// node is its address, and a node at the end of the inventory changes no other id.
func TestRouterIDs(t *testing.T) {
	var speakers []Speaker
	for i := range 2000 {
		ip := netip.MustParseAddr(fmt.Sprintf("fd00::%x", i+1))
		if i%2 == 0 {
			ip = netip.AddrFrom4([4]byte{10, 1, byte(i / 256), byte(i % 256)}) //nolint:gosec // below 65536
		}
		speakers = append(speakers, Speaker{Name: fmt.Sprint(i), IP: ip})
	}
	// The IPv6 address of this node maps to the number that the IPv4 address before
	// it has taken.
	clash := addressNumber(speakers[1].IP)
	speakers = append([]Speaker{{Name: "first", IP: netip.AddrFrom4([4]byte{byte(clash >> 24), byte(clash >> 16), byte(clash >> 8), byte(clash)})}}, speakers...) //nolint:gosec // bytes
	ids := routerIDs(speakers)
	seen := map[string]string{}
	for _, s := range speakers {
		id := ids[s.Name]
		if seen[id] != "" || id == "0.0.0.0" {
			t.Fatalf("%s and %s both have the id %s", seen[id], s.Name, id)
		}
		seen[id] = s.Name
		if s.IP.Is4() && id != s.IP.String() {
			t.Errorf("%s has the id %s", s.IP, id)
		}
	}
	fewer := routerIDs(speakers[:len(speakers)-1])
	for name, id := range fewer {
		if ids[name] != id {
			t.Errorf("%s changed its id when a node was added", name)
		}
	}
}
