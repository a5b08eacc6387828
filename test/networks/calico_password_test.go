//go:build lab

package networks

import (
	"errors"
	"strings"
	"testing"
	"time"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// passwordSteps are changes of the password of sessions between Calico's nodes, one after the other.
var passwordSteps = []struct {
	name           string
	authentication string // empty: not in the inventory
	reflectors     []any
	replace        bool   // the masters have another password
	password       bool   // sessions have one
	killed         string // the first run is killed when it says this
}{
	{"set in a mesh", "md5", nil, false, true, ""},
	{"another one in a mesh", "md5", nil, true, true, "the node has sessions of its own"},
	{"kept while the mesh gives way to reflectors", "", []any{"m1", "n2"}, false, true, ""},
	{"another one with reflectors", "", []any{"m1", "n2"}, true, true, "password and settings of all sessions"},
	{"removed with reflectors", "none", []any{"m1", "n2"}, false, false, ""},
	{"set while the mesh begins", "md5", nil, false, true, ""},
}

// TestPasswordOfCalico takes the password of the BGP sessions between Calico's nodes away, which a new
// cluster has, sets one and changes it, in a mesh and with reflectors, while pods of all nodes ping each
// other: none is lost, two killed runs included. A node whose sessions do not come up with the password ends
// the change before any other node, and no output has a password. network status and verify name a node
// whose BIRD has another one.
func TestPasswordOfCalico(t *testing.T) {
	scenario(t)
	s := harness.New(t, "networks", plan.Spec{Masters: 1, Minions: 2})
	nodes := []string{"m1", "n1", "n2"}
	set := func(authentication string, reflectors []any) {
		s.Edit(func(inv map[string]any) {
			network := harness.Section(inv, "cluster", "network")
			network["plugin"] = "calico"
			delete(network, "authentication")
			delete(network, "reflectors")
			if authentication != "" {
				network["authentication"] = authentication
			}
			if reflectors != nil {
				network["reflectors"] = reflectors
			}
		})
	}
	var passwords []string
	var outputs strings.Builder
	must := func(args ...string) string {
		all := s.Must(args...).All()
		outputs.WriteString(all)
		return all
	}
	ofMasters := func() string {
		password := strings.TrimSpace(s.Shell("m1", "cat /etc/kubernetes/bgp-password"))
		passwords = append(passwords, password)
		return password
	}
	set("", nil)
	must("install")
	startPods(s)
	requirePassword(s, nodes, ofMasters())
	pings := startMesh(s, nodes)
	pings.require(t, "before")
	set("none", nil)
	must("install")
	requirePassword(s, nodes, "")

	set("md5", nil)
	refuseSignedPackets(s, "n1", true)
	o := s.Deployer("install")
	outputs.WriteString(o.All())
	if o.Code == 0 {
		t.Fatalf("a password with which n1 has no sessions is installed:\n%s", o.All())
	}
	s.RequireTexts(o.All(), "the change of the password ended at this node")
	requirePassword(s, nodes, "")
	pings.require(t, "after a password that fails on one node")
	refuseSignedPackets(s, "n1", false)

	for _, c := range passwordSteps {
		set(c.authentication, c.reflectors)
		if c.replace {
			s.Shell("m1", "head -c 24 /dev/urandom | base64 >/etc/kubernetes/bgp-password")
		}
		outputs.WriteString(must("plan", "install", "-v"))
		if c.killed != "" {
			s.KillAtOutput(c.killed, "install")
		}
		must("install", "-v")
		password := ""
		if c.password {
			password = ofMasters()
		}
		requirePassword(s, nodes, password)
		requireReflectors(s, c.reflectors)
		requireNetwork(s, "3 nodes, no problems")
		s.RequireTexts(must("install"), "0 changed")
		pings.require(t, c.name)
	}
	sent, lost := pings.end(t)
	total.pinged(sent, lost)
	t.Logf("password of calico pings=%d lost=%d", sent, lost)
	if lost > 0 || sent < 1000 {
		t.Errorf("%d of %d pings were lost, want none of at least 1000", lost, sent)
	}
	if err := errors.Join(pings.errors...); err != nil {
		t.Error(err)
	}
	if got := strings.Fields(s.Kubectl("m1", `-n kube-system get secret calico-bgp-passwords -o go-template='{{range $k, $v := .data}}{{$k}} {{end}}'`)); len(got) != 1 {
		t.Errorf("the Secret has the keys %v, want that of the password in use", got)
	}
	for _, p := range passwords {
		if strings.Contains(outputs.String(), p) {
			t.Errorf("a password is in the output of a run")
		}
	}

	s.Shell("n2", `pid=$(pgrep -x bird) && sed -i -E 's/password "[^"]+"/password "wrong"/' /proc/$pid/root/etc/calico/confd/config/bird.cfg && kill -HUP $pid`)
	s.Eventually(5*time.Minute, "network status names the node with another password", func() error {
		o := s.Deployer("network", "status")
		if o.Code != problems || !strings.Contains(o.All(), "n2  sessions: no session is established") {
			return errors.New(o.All())
		}
		return nil
	})
	o = s.Deployer("verify")
	s.RequireExit(o, problems)
	s.RequireTexts(o.All(), "BAD  n2  pod to pod", "deployer network status")
}

// refuseSignedPackets drops the packets of BGP that a host gets with a TCP MD5 signature, as a kernel
// without this option does, or ends that.
func refuseSignedPackets(s *harness.Site, host string, refuse bool) {
	s.T.Helper()
	if !refuse {
		s.Shell(host, "nft delete table inet unsigned")
		return
	}
	s.Shell(host, `nft -f - <<'EOF'
table inet unsigned {
  chain in { type filter hook input priority -200; tcp dport 179 tcp option 19 exists drop; tcp sport 179 tcp option 19 exists drop; }
}
EOF`)
}

// requirePassword requires that all sessions in the configuration of BIRD on each node have a password;
// none has one when it is empty.
func requirePassword(s *harness.Site, nodes []string, want string) {
	s.T.Helper()
	for _, node := range nodes {
		config := s.Shell(node, `cat /proc/$(pgrep -x bird)/root/etc/calico/confd/config/bird.cfg`)
		sessions, passwords, right := strings.Count(config, "\nprotocol bgp "), strings.Count(config, `password "`), strings.Count(config, `password "`+want+`"`)
		if want == "" && passwords > 0 || want != "" && (right != passwords || right != sessions) || sessions == 0 {
			s.T.Errorf("%s: of %d sessions %d have a password, %d the one of the masters", node, sessions, passwords, right)
		}
	}
}
