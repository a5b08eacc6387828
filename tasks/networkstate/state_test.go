package networkstate

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/tasks/tasktest"
)

const routes = `Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
eth0	00000000	01001FAC	0003	0	0	0	00000000	0	0	0
eth0	00001FAC	00000000	0001	0	0	0	00FFFFFF	0	0	0
cni0	0000F40A	00000000	0001	0	0	0	00FFFFFF	0	0	0
eth0	0001F40A	0C001FAC	0003	0	0	32	00FFFFFF	0	0	0
eth0	0002F40A	63001FAC	0003	0	0	0	00FFFFFF	0	0	0
eth0	0002F40A	0D001FAC	0003	0	0	32	00FFFFFF	0	0	0
eth0	0003F40A	0E001FAC	0003	0	0	4096	00FFFFFF	0	0	0
`

// node returns a host with a bridge of two pods, and a BIRD that answers with a table of protocols.
func node(t *testing.T) *tasktest.System {
	t.Helper()
	sys := tasktest.New(t)
	sys.Write(t, "/proc/net/route", routes, 0o444)
	for name, mtu := range map[string]string{"eth0": "1500", "veth1": "1450", "veth2": "1500", "veth3": "9000", "cali1": "1480"} {
		sys.Write(t, filepath.Join(classNet, name, "mtu"), mtu+"\n", 0o444)
	}
	for _, name := range []string{"veth1", "veth2", "veth7"} {
		sys.Write(t, filepath.Join(classNet, "cni0/brif", name, "state"), "3\n", 0o444)
		sys.Write(t, filepath.Join(classNet, name, "master/ifindex"), "3\n", 0o444)
	}
	sys.Write(t, "/etc/cni/net.d/10-deployer.conflist", `{"name":"deployer","plugins":[{"type":"bridge","mtu":1450},{"type":"portmap"}]}`, 0o600)
	sys.Write(t, "/etc/cni/net.d/05-notes.txt", "none", 0o600)
	sys.Write(t, "/var/lib/calico/mtu", "1480", 0o600)
	for _, name := range []string{"10.244.0.2", "10.244.0.3", "last_reserved_ip.0", "lock"} {
		sys.Write(t, filepath.Join(addressesDir, name), "id", 0o600)
	}
	return sys
}

// answer serves a BIRD with two sessions on its control socket.
func answer(t *testing.T, sys *tasktest.System, socket string) {
	t.Helper()
	path := sys.Path(socket)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(conn, "0001 BIRD 2.0.12 ready.\n")
			_, _ = bufio.NewReader(conn).ReadString('\n')
			fmt.Fprint(conn, "2002-Name Proto Table State Since Info\n1002-to_n1 BGP --- up 14:00:07.123 Established\n to_n2 BGP --- start 2026-11-20 Connect Socket: No route to host\n0000 \n")
			_ = conn.Close()
		}
	}()
}

// decoded returns the output of a check as the controller gets it.
func decoded(t *testing.T, sys *tasktest.System, s *State) engine.Output {
	t.Helper()
	text, err := json.Marshal(tasktest.Check(t, sys, s).Output)
	if err != nil {
		t.Fatal(err)
	}
	var out engine.Output
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestState(t *testing.T) {
	t.Parallel()
	sys := node(t)
	answer(t, sys, "/run/b.ctl")
	got := decoded(t, sys, &State{
		Sockets:  []string{"/run/b.ctl"},
		Prefixes: []string{"10.244.0.0/24", "10.244.1.0/24", "10.244.2.0/24", "10.244.3.0/24"},
		Gateways: []string{"172.31.0.11", "172.31.0.12", "172.31.0.13", "172.31.0.14"},
		Own:      []string{"10.244.0.0/24"},
		Nodes:    []string{"172.31.0.12", "172.31.0.13", "fd00::1"},
		Pods:     "bridge",
	})
	want := engine.Output{
		"sessions": []any{
			map[string]any{"name": "to_n1", "state": "Established", "since": "14:00:07.123"},
			map[string]any{"name": "to_n2", "state": "Connect Socket: No route to host", "since": "2026-11-20"},
		},
		"routes_present": 1.0, "routes_missing": 2.0,
		"missing": []any{
			map[string]any{"to": "10.244.2.0/24", "want": "172.31.0.13", "found": "172.31.0.99"},
			map[string]any{"to": "10.244.3.0/24", "want": "172.31.0.14", "found": ""}, // a standby route does not count
		},
		"uplinks":    []any{map[string]any{"name": "eth0", "mtu": 1500.0}},
		"pods":       map[string]any{"count": 2.0, "low": 1450.0, "high": 1500.0},
		"cni":        map[string]any{"file": "10-deployer.conflist", "type": "bridge", "mtu": 1450.0},
		"calico_mtu": 1480.0, "addresses": 2.0,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestStateOfOtherNetworks: routes of VXLAN have any gateway, and each network has its interfaces.
func TestStateOfOtherNetworks(t *testing.T) {
	t.Parallel()
	sys := node(t)
	got := decoded(t, sys, &State{Prefixes: []string{"10.244.2.0/24", "10.244.9.0/24"}, Pods: "calico"})
	if got["routes_present"] != 1.0 || got["routes_missing"] != 1.0 || got["bird_error"] != nil {
		t.Errorf("%v", got)
	}
	if diff := cmp.Diff(map[string]any{"count": 1.0, "low": 1480.0, "high": 1480.0}, got["pods"]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]any{"count": 1.0, "low": 9000.0, "high": 9000.0}, decoded(t, sys, &State{Pods: "ptp"})["pods"]); diff != "" {
		t.Error(diff)
	}
}

// TestStateOfAnEmptyHost: a host without a network is no error.
func TestStateOfAnEmptyHost(t *testing.T) {
	t.Parallel()
	got := decoded(t, tasktest.New(t), &State{Sockets: []string{"/run/b.ctl"}, Prefixes: []string{"10.244.1.0/24"}, Nodes: []string{"172.31.0.12"}, Pods: "bridge"})
	if got["bird_error"] != "BIRD does not run: it has no socket /run/b.ctl" || got["routes_missing"] != 1.0 || got["cni"].(map[string]any)["file"] != "" {
		t.Errorf("%v", got)
	}
}

// TestManyMissingRoutes: a host that lacks all routes lists some.
func TestManyMissingRoutes(t *testing.T) {
	t.Parallel()
	s := &State{}
	for i := range 2 * maxMissing {
		s.Prefixes = append(s.Prefixes, fmt.Sprintf("10.1.%d.0/24", i))
	}
	got := decoded(t, tasktest.New(t), s)
	if got["routes_missing"] != float64(2*maxMissing) || len(got["missing"].([]any)) != maxMissing {
		t.Errorf("%v missing, %d listed", got["routes_missing"], len(got["missing"].([]any)))
	}
	s.Gateways = []string{"10.0.0.1"}
	if err := engine.Validate(s); err == nil || !strings.Contains(err.Error(), "1 gateways for 100 prefixes") {
		t.Errorf("%v", err)
	}
}

// TestSocketOfIPv6: Calico has a BIRD for each family, whose sessions are listed together.
func TestSocketOfIPv6(t *testing.T) {
	t.Parallel()
	sys := node(t)
	answer(t, sys, "/run/b.ctl")
	out := decoded(t, sys, &State{Sockets: []string{"/run/b.ctl", "/run/b6.ctl"}})
	if text, _ := out["bird_error"].(string); !strings.Contains(text, "no socket /run/b6.ctl") {
		t.Errorf("without the second BIRD: %v", out["bird_error"])
	}
	answer(t, sys, "/run/b6.ctl")
	out = decoded(t, sys, &State{Sockets: []string{"/run/b.ctl", "/run/b6.ctl"}})
	if all, _ := out["sessions"].([]any); len(all) != 4 || out["bird_error"] != nil {
		t.Errorf("sessions %v, %v", all, out["bird_error"])
	}
}
