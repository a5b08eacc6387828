//go:build lab

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// rogueRouter makes BIRD of one node announce the range of another node, a half of it,
// unused ranges and a default route. The routes of the other nodes do not change, and the
// next install repairs the node.
func rogueRouter(t *testing.T, s *site, rogue, victim string, others ...string) {
	before := map[string]string{}
	for _, h := range others {
		before[h] = s.Shell(h, "ip route show | sed 's/linkdown//; s/ *$//'; ip route show proto bird | wc -l")
	}
	pods := s.Kubectl("m1", "get node "+victim+" -o 'jsonpath={.spec.podCIDR}'")
	half := strings.Replace(pods, "/24", "/25", 1)
	if half == pods {
		t.Fatalf("the range of %s is %s", victim, pods)
	}
	s.Shell(rogue, fmt.Sprintf(`cd /etc/deployer && cp -p bird.conf bird.rogue
cat >> bird.rogue <<'EOF'
protocol static rogue {
  ipv4;
  route %s unreachable;
  route %s unreachable;
  route 10.244.200.0/24 unreachable;
  route 192.0.2.0/24 unreachable;
  route 0.0.0.0/0 unreachable;
}
EOF
sed -i 's/if source = RTS_DEVICE then reject;/accept;/' bird.rogue
bird -p -c bird.rogue && birdc -s /run/bird/bird.ctl configure '"/etc/deployer/bird.rogue"'`, pods, half))
	sent := s.Shell(rogue, `for p in $(birdc -s /run/bird/bird.ctl show protocols | awk '$1 ~ /^to_/ {print $1; exit}'); do birdc -s /run/bird/bird.ctl show route export $p; done`)
	for _, prefix := range []string{pods, half, "0.0.0.0/0"} {
		if !strings.Contains(sent, prefix+" ") {
			t.Fatalf("%s does not announce %s, so nothing is shown:\n%s", rogue, prefix, sent)
		}
	}
	time.Sleep(2 * time.Second) // an announcement takes milliseconds
	for _, h := range others {
		if diff := cmp.Diff(before[h], s.Shell(h, "ip route show | sed 's/linkdown//; s/ *$//'; ip route show proto bird | wc -l")); diff != "" {
			t.Errorf("%s has other routes since %s announces what is not its own (-before +after):\n%s", h, rogue, diff)
		}
	}
	s.Shell(rogue, "rm /etc/deployer/bird.rogue; birdc -s /run/bird/bird.ctl configure '\"/etc/deployer/bird.conf\"'")
}

// rogueReflector gives a reflector that is no master a second address, with which it announces
// the range of another node to its clients and to the other reflector. They keep their routes.
func rogueReflector(t *testing.T, s *site, reflector, victim string, others ...string) {
	const second = "203.0.113.9"
	const list = "ip -4 route show proto bird | sed 's/linkdown//; s/ *$//' | sort"
	before := map[string]string{}
	for _, h := range others {
		before[h] = s.Shell(h, list)
	}
	pods := s.Kubectl("m1", "get node "+victim+" -o 'jsonpath={.spec.podCIDR}'")
	if via := pods + " via " + s.Address(victim); !strings.Contains(before[others[0]], via) {
		t.Fatalf("%s has no route %s:\n%s", others[0], via, before[others[0]])
	}
	// The clients can reach the second address over the network that all nodes share.
	for _, h := range others {
		s.Shell(h, "ip route replace "+second+"/32 dev $(ip -o route get "+s.Address(reflector)+" | sed 's/.* dev \\([^ ]*\\).*/\\1/')")
	}
	s.Shell(reflector, fmt.Sprintf(`ip address add %s/32 dev lo
cd /etc/deployer && cp -p bird.conf bird.rogue
sed -i 's/if source = RTS_BGP then accept;/if net = %s then { bgp_next_hop = %s; bgp_local_pref = 200; accept; } if source = RTS_BGP then accept;/' bird.rogue
bird -p -c bird.rogue && birdc -s /run/bird/bird.ctl configure '"/etc/deployer/bird.rogue"'
birdc -s /run/bird/bird.ctl reload out all`, second, strings.ReplaceAll(pods, "/", `\/`), second))
	sent := s.Shell(reflector, "birdc -s /run/bird/bird.ctl show route all for "+pods+" export to_"+others[len(others)-1])
	if !strings.Contains(sent, pods) || !strings.Contains(sent, "BGP.next_hop: "+second) {
		t.Fatalf("%s does not announce %s with %s as next hop, so nothing is shown:\n%s", reflector, pods, second, sent)
	}
	time.Sleep(2 * time.Second) // an announcement takes milliseconds
	for _, h := range others {
		if diff := cmp.Diff(before[h], s.Shell(h, list)); diff != "" {
			t.Errorf("%s has other routes since the reflector %s announces the pods of %s (-before +after):\n%s", h, reflector, victim, diff)
		}
		s.Shell(h, "ip route del "+second+"/32")
	}
	s.Shell(reflector, "rm /etc/deployer/bird.rogue; ip address del "+second+"/32 dev lo; birdc -s /run/bird/bird.ctl configure '\"/etc/deployer/bird.conf\"'; birdc -s /run/bird/bird.ctl reload out all")
}

// signedSessions checks that a host without the password has no session: BIRD on the
// node gets another password, and the neighbour does not establish a session with it.
func signedSessions(t *testing.T, s *site, node, neighbour string) {
	password := s.Shell(node, `sed -n 's/^password "\(.*\)";$/\1/p' /etc/deployer/bgp-password.conf`)
	if len(password) < 32 || password != s.Shell("m1", "cat /etc/kubernetes/bgp-password") {
		t.Errorf("the password of %s has %d bytes and is not that of the masters", node, len(password))
	}
	s.Shell(node, `cd /etc/deployer && sed 's#/etc/deployer/bgp-password.conf#/run/bgp-wrong.conf#' bird.conf > bird.rogue && echo 'password "wrong";' > /run/bgp-wrong.conf && chmod 0644 bird.rogue /run/bgp-wrong.conf
birdc -s /run/bird/bird.ctl configure '"/etc/deployer/bird.rogue"'`)
	time.Sleep(8 * time.Second) // a session comes up within 6 s
	if out := s.Shell(neighbour, "birdc -s /run/bird/bird.ctl show protocols to_"+node); strings.Contains(out, "Established") {
		t.Errorf("%s has a session with %s, which signs with another password:\n%s", neighbour, node, out)
	}
	s.Shell(node, "rm /etc/deployer/bird.rogue; birdc -s /run/bird/bird.ctl configure '\"/etc/deployer/bird.conf\"'")
	s.Eventually(30*time.Second, "the session is back", func() error {
		if out := s.Shell(neighbour, "birdc -s /run/bird/bird.ctl show protocols to_"+node); !strings.Contains(out, "Established") {
			return fmt.Errorf("%s", out)
		}
		return nil
	})
}
