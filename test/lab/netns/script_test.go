package netns

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/test/lab/plan"
)

func TestScripts(t *testing.T) {
	h := plan.Host{Name: "m1", Address: netip.MustParseAddr("172.31.0.11")}
	for _, c := range []struct{ name, got, want string }{
		{"lab", labScript(), `link set lo up
link add lab0 address 02:1a:ac:1f:00:01 type bridge
address add 172.31.0.1/24 dev lab0
address add fd00:172:31::1/64 dev lab0 nodad
link set lab0 up
`},
		{"port", portScript(h, "deployer-lab-x.m1"), `link add m1 type veth peer name eth0 address 02:1a:ac:1f:00:0b netns deployer-lab-x.m1
link set m1 master lab0 up
`},
		{"host", hostScript(h), `link set lo up
address add 172.31.0.11/24 dev eth0
address add fd00:172:31::11/64 dev eth0 nodad
link set eth0 up
route add default via 172.31.0.1
route add default via fd00:172:31::1
`},
	} {
		if d := cmp.Diff(c.want, c.got); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}

func TestEnterChangesOnlyTheNetwork(t *testing.T) {
	want := []string{"nsenter", "--net=/run/netns/deployer-lab-x", "--", "ls", "-l"}
	if d := cmp.Diff(want, Enter("deployer-lab-x", "ls", "-l")); d != "" {
		t.Error(d)
	}
}
