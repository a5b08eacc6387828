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
