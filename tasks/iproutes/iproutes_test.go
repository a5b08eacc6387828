package iproutes

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/tasks/tasktest"
)

const table = `Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
eth0	00000000	01001FAC	0003	0	0	100	00000000	0	0	0
eth1	00000000	0100140A	0003	0	0	20	00000000	0	0	0
eth0	00001FAC	00000000	0001	0	0	0	00FFFFFF	0	0	0
tunl0	0001F40A	0C001FAC	0003	0	0	32	00FFFFFF	0	0	0
*	4000F40A	00000000	0200	0	0	0	C0FFFFFF	0	0	0
`

func TestRead(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	if got, err := Read(sys); err != nil || got != nil {
		t.Errorf("without a table: %v, %v", got, err)
	}
	sys.Write(t, "/proc/net/route", table, 0o444)
	routes, err := Read(sys)
	if err != nil || len(routes) != 5 {
		t.Fatalf("%v, %v", routes, err)
	}
	want := Route{To: netip.MustParsePrefix("10.244.1.0/24"), Gateway: netip.MustParseAddr("172.31.0.12"), Interface: "tunl0", Metric: "32"}
	if diff := cmp.Diff(want, routes[3], cmp.Comparer(func(a, b netip.Addr) bool { return a == b }), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
	for to, want := range map[string]string{"172.31.0.9": "eth0", "10.244.1.7": "tunl0", "10.244.0.65": "", "192.0.2.1": "eth1"} {
		if got := InterfaceTo(routes, netip.MustParseAddr(to)); got != want {
			t.Errorf("packets to %s leave by %q, want %q", to, got, want)
		}
	}
}

const table6 = `fd0000010000000200000000000000ff 80 00000000000000000000000000000000 00 00000000000000000000000000000000 00000000 00000003 00000000 80200001    cni0
fd000001000000000000000000000000 40 00000000000000000000000000000000 00 fd000000000000000000000000000012 00000020 00000001 00000000 00000003    eth0
fd000000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000003 00000000 00000001    eth0
fd000009000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000400 00000001 00000000 00200200      lo
00000000000000000000000000000000 00 00000000000000000000000000000000 00 fd000000000000000000000000000001 00000400 00000001 00000000 00000003    eth0
fd000000000000000000000000000000 80 00000000000000000000000000000000 00 00000000000000000000000000000000 00000000 00000001 00000000 00100001    eth0
`

func TestReadIPv6(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Write(t, "/proc/net/ipv6_route", table6, 0o444)
	routes, err := Read(sys)
	if err != nil || len(routes) != 4 {
		t.Fatalf("%v, %v", routes, err)
	}
	want := Route{To: netip.MustParsePrefix("fd00:1::/64"), Gateway: netip.MustParseAddr("fd00::12"), Interface: "eth0", Metric: "32"}
	if routes[0] != want {
		t.Errorf("%v, want %v", routes[0], want)
	}
	for to, want := range map[string]string{"fd00::9": "eth0", "fd00:1::7": "eth0", "fd00:9::1": "", "2001:db8::1": "eth0"} {
		if got := InterfaceTo(routes, netip.MustParseAddr(to)); got != want {
			t.Errorf("packets to %s leave by %q, want %q", to, got, want)
		}
	}
}
