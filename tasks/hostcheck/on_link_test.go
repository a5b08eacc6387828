package hostcheck

import (
	"strings"
	"testing"

	"deployer/tasks/tasktest"
)

// table has eth0 in 10.0.1.0/24 with a default route by 10.0.1.1.
const table = `Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
eth0	00000000	0101000A	0003	0	0	100	00000000	0	0	0
eth0	0001000A	00000000	0001	0	0	0	00FFFFFF	0	0	0
`

func TestOnLink(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	check := func(addresses ...string) string {
		row := Requirement{Kind: "on_link", Addresses: addresses}.onLink(sys)
		if row.OK {
			return ""
		}
		return row.Detail
	}
	if got := check("10.0.2.11"); got != "" {
		t.Errorf("a kernel without a table: %q", got)
	}
	sys.Write(t, "/proc/net/route", table, 0o444)
	if got := check("10.0.1.12", "10.0.1.1"); got != "" {
		t.Errorf("addresses of its network: %q", got)
	}
	sys.Write(t, "/proc/net/fib_trie", "  |-- 10.9.0.1\n     /32 host LOCAL\n", 0o444)
	if got := check("10.9.0.1", "127.0.0.2"); got != "" {
		t.Errorf("addresses of the host itself: %q", got)
	}
	if got := check("10.0.1.12", "10.0.2.11"); !strings.Contains(got, "between the host and 10.0.2.11 (by 10.0.1.1),") {
		t.Errorf("an address behind a router: %q", got)
	}
}
