package networkstatus

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/cluster"
)

// resolved returns a cluster of a master and three minions; m1 is 10.0.0.1, n1 10.0.0.2 and so on.
func resolved(t *testing.T, network cluster.NetworkSpec) *cluster.Cluster {
	t.Helper()
	var hosts []cluster.Host
	for i, name := range []string{"m1", "n1", "n2", "n3"} {
		role := cluster.RoleMinion
		if name == "m1" {
			role = cluster.RoleMaster
		}
		hosts = append(hosts, cluster.Host{Name: name, Address: fmt.Sprintf("10.0.0.%d", i+1), Roles: []string{role}})
	}
	c, err := cluster.Resolve(cluster.Spec{Network: network}, hosts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// healthy returns the state of a cluster in which all is as the inventory wants.
func healthy(c *cluster.Cluster) Observed {
	found := Observed{Hosts: map[string]Host{}, Failures: map[string]Failure{}}
	for i, name := range c.NodeNames {
		n := Node{Name: name}
		if c.Network.Plugin == cluster.PluginBGP {
			n.Range = fmt.Sprintf("10.244.%d.0/24", i)
		} else {
			found.Objects.Blocks = append(found.Objects.Blocks, Block{CIDR: fmt.Sprintf("10.244.0.%d/26", 64*i), Node: name, Announced: true, Used: i})
		}
		found.Objects.Nodes = append(found.Objects.Nodes, n)
		h := Host{Uplinks: []Interface{{"eth0", 1500}}, Pods: PodInterfaces{2, 1450, 1450}, CNI: CNI{File: cniFiles[c.Network.Plugin], MTU: 1450}, RoutesPresent: len(c.NodeNames) - 1, Addresses: 2}
		for _, p := range c.Nodes[name].BGP.Peers {
			session := cluster.BIRDSession(p.Name, p.IP)
			if c.Network.Plugin == cluster.PluginCalico {
				prefix := cluster.CalicoPeerSession
				if c.Network.Mesh {
					prefix = cluster.CalicoMeshSession
				}
				session = cluster.CalicoSession(prefix, p.IP)
			}
			h.Sessions = append(h.Sessions, Session{Name: session, State: established, Since: "2026-11-20"})
		}
		found.Hosts[name] = h
	}
	if c.Network.Plugin == cluster.PluginCalico {
		found.Objects.Pools = []Pool{{Name: "default-ipv4-ippool", CIDR: "10.244.0.0/24", BlockSize: 26}}
	}
	return found
}

// edit changes a host of an observation.
func (o Observed) edit(host string, change func(h *Host)) {
	h := o.Hosts[host]
	h.Sessions, h.Missing = slices.Clone(h.Sessions), slices.Clone(h.Missing)
	change(&h)
	o.Hosts[host] = h
}

// session sets the state of a host's session; with an empty state BIRD does not have it.
func (o Observed) session(host, name, state string) {
	o.edit(host, func(h *Host) {
		i := slices.IndexFunc(h.Sessions, func(s Session) bool { return s.Name == name })
		switch {
		case i < 0:
			h.Sessions = append(h.Sessions, Session{Name: name, State: state})
		case state == "":
			h.Sessions = slices.Delete(h.Sessions, i, i+1)
		default:
			h.Sessions[i].State = state
		}
	})
}

// lose takes routes from a host.
func (o Observed) lose(host string, missing ...Missing) {
	o.edit(host, func(h *Host) {
		h.Missing = append(h.Missing, missing...)
		h.RoutesMissing += len(missing)
		h.RoutesPresent -= len(missing)
	})
}

// lines returns the problems as texts.
func lines(s Status) []string {
	out := []string{}
	for _, p := range s.Problems {
		out = append(out, fmt.Sprintf("%s %s: %s | %s", p.Host, p.Check, p.Detail, p.Fix))
	}
	return out
}

func TestCompare(t *testing.T) {
	t.Parallel()
	bgp, calico := cluster.NetworkSpec{}, cluster.NetworkSpec{Plugin: cluster.PluginCalico}
	reflected := cluster.NetworkSpec{Reflectors: []string{"m1", "n1"}}
	vxlan := cluster.NetworkSpec{Plugin: cluster.PluginCalico, Calico: cluster.CalicoSpec{Encapsulation: cluster.EncapsulationVXLAN}}
	const passwords = "TCP port 179 must be open between the hosts, and both must have the same password: run deployer apply, then look at BIRD's log on both"
	for name, tt := range map[string]struct {
		network cluster.NetworkSpec
		change  func(o *Observed)
		want    []string
	}{
		"as wanted, bgp":    {bgp, func(*Observed) {}, nil},
		"as wanted, calico": {calico, func(o *Observed) { o.Objects.Pools[0].BlockSize = 27 }, nil},
		"a host is down: one problem, whatever the others lack of it": {bgp, func(o *Observed) {
			delete(o.Hosts, "n3")
			o.Failures["n3"] = Failure{"connection timed out", true}
			o.session("m1", "to_n3", "Connect Socket: No route to host")
			o.session("n1", "to_n3", "Active")
			o.lose("m1", Missing{To: "10.244.3.0/24", Want: "10.0.0.4"})
		}, []string{"n3 host: connection timed out; no session with it: m1, n1; no route to its pods: m1 | bring the host back, or remove it: deployer scale-down n3 --dead"}},
		"a host cannot be examined, and the others report what they lack": {bgp, func(o *Observed) {
			delete(o.Hosts, "n3")
			o.Failures["n3"] = Failure{Reason: "the disk is full"}
			o.session("n1", "to_n3", "Active")
		}, []string{
			"n1 sessions: not established: n3 (Active) | " + passwords,
			"n3 host: it could not be examined: the disk is full | ",
		}},
		"BIRD of a host does not run": {bgp, func(o *Observed) {
			o.edit("n1", func(h *Host) {
				h.BIRDError, h.Sessions, h.RoutesPresent, h.RoutesMissing = "BIRD does not run", nil, 0, 3
			})
			o.session("n2", "to_n1", "Connect Socket: Connection refused")
		}, []string{"n1 BIRD: BIRD does not run; no session with it: n2 | run deployer apply; its log on the host: journalctl -u deployer-bird.service"}},
		"a host is not in the cluster": {bgp, func(o *Observed) {
			o.Objects.Nodes = o.Objects.Nodes[:3]
			o.edit("n3", func(h *Host) { *h = Host{BIRDError: "BIRD does not run"} })
			o.session("n1", "to_n3", "")
		}, []string{"n3 node: the host is not in the cluster; no session with it: n1 | run deployer scale-up"}},
		"a session is blocked on both ends": {bgp, func(o *Observed) {
			o.session("n1", "to_n2", "Active Socket: Connection timed out")
			o.session("n2", "to_n1", "Connect")
			o.lose("n1", Missing{To: "10.244.2.0/24", Want: "10.0.0.3"})
		}, []string{
			"n1 sessions: not established: n2 (Active Socket: Connection timed out) | " + passwords,
			"n1 routes: no established session leads to the pods 10.244.2.0/24 of n2 | establish the sessions first",
			"n2 sessions: not established: n1 (Connect) | " + passwords,
		}},
		"a configuration is older than the inventory": {bgp, func(o *Observed) {
			o.session("n1", "to_n3", "")
			o.session("n3", "to_n1", "Connect Socket: Connection refused")
			o.session("n1", "to_gone", "Active")
		}, []string{
			"n1 sessions: BIRD's configuration has no session with n3 | run deployer apply",
			"n1 sessions: BIRD's configuration has sessions that the inventory does not want, with to_gone | run deployer apply",
		}},
		"a route has another gateway": {bgp, func(o *Observed) { o.lose("n1", Missing{To: "10.244.2.0/24", Want: "10.0.0.3", Found: "10.0.0.99"}) }, []string{
			"n1 routes: routes to pods have another gateway: 10.244.2.0/24 of n2 by 10.0.0.99 instead of 10.0.0.3 | ip route show 10.244.2.0/24 on the host shows what has made the route",
		}},
		"a route is not announced": {bgp, func(o *Observed) { o.lose("n1", Missing{To: "10.244.2.0/24", Want: "10.0.0.3"}) }, []string{
			"n1 routes: no route to the pods 10.244.2.0/24 of n2, though sessions lead there: a neighbour does not announce it, or a filter rejects it | run deployer apply; birdc -s /run/bird/bird.ctl show route for 10.244.2.0/24 all shows what BIRD knows",
		}},
		"a node of a mesh has another password": {calico, func(o *Observed) {
			o.Objects.Pools[0].BlockSize = 27
			for i, peer := range []string{"m1", "n1", "n2"} {
				o.session("n3", fmt.Sprintf("Mesh_10_0_0_%d", i+1), "Connect")
				o.session(peer, "Mesh_10_0_0_4", "Passive")
			}
		}, []string{"n3 sessions: no session is established, and other nodes have sessions with each other: m1 (Connect), n1 (Connect), n2 (Connect) | " + aloneFix}},
		"both reflectors have lost a client": {reflected, func(o *Observed) {
			for _, r := range []string{"m1", "n1"} {
				o.session("n3", "to_"+r, "Active")
				o.session(r, "to_n3", "Active")
			}
			o.lose("n2", Missing{To: "10.244.3.0/24", Want: "10.0.0.4"})
		}, []string{
			"n2 routes: no established session leads to the pods 10.244.3.0/24 of n3 | establish the sessions first",
			"n3 sessions: no session is established, and other nodes have sessions with each other: m1 (Active), n1 (Active) | " + aloneFix,
		}},
		"a reflector does not pass on a route": {reflected, func(o *Observed) { o.lose("n2", Missing{To: "10.244.3.0/24", Want: "10.0.0.4"}) }, []string{
			"n2 routes: no route to the pods 10.244.3.0/24 of n3, though sessions lead there: a neighbour does not announce it, or a filter rejects it | run deployer apply; birdc -s /run/bird/bird.ctl show route for 10.244.3.0/24 all shows what BIRD knows",
		}},
		"the mesh of a cluster that wants reflectors": {cluster.NetworkSpec{Plugin: cluster.PluginCalico, Reflectors: []string{"m1", "n1"}}, func(o *Observed) {
			o.Objects.Pools[0].BlockSize = 27
			o.session("n2", "Mesh_10_0_0_4", established)
			o.session("n2", "Node_192_0_2_1", established) // a peer of the user
			o.session("n2", "Mesh_10_0_0_1", "Idle")       // the session by the BGPPeer is established
		}, []string{"n2 sessions: BIRD's configuration has sessions that the inventory does not want, with n3 | run deployer apply"}},
		"Felix has not written a route": {vxlan, func(o *Observed) {
			o.Objects.Pools[0].BlockSize = 27
			o.lose("n1", Missing{To: "10.244.0.128/26"})
		}, []string{"n1 routes: no route to the pods 10.244.0.128/26 of n2: Felix has not written it | look at the log of calico-node: kubectl -n kube-system logs calico-node-n1"}},
		"packets are too large for a way, with two repairs": {bgp, func(o *Observed) {
			o.edit("n3", func(h *Host) { h.Uplinks = []Interface{{"ens5", 1400}}; h.CNI.MTU, h.Pods.High = 1400, 1400 })
			o.edit("n1", func(h *Host) { h.CNI.MTU = 1400 })
			o.edit("n2", func(h *Host) { h.Pods = PodInterfaces{} })
		}, []string{
			" MTU: the MTU of pods is 1450 on m1, n2, and packets to other nodes may have 1400 bytes: ens5 of n3 has the MTU 1400 | run deployer apply, which gives new pods the MTU 1400, and start the pods anew",
			"n1 MTU: the MTU of pods is 1450, and packets to other nodes may have 1400 bytes: ens5 of n3 has the MTU 1400 | start the pods anew",
		}},
		"packets of all nodes are too large: one problem": {cluster.NetworkSpec{MTU: 1500}, func(o *Observed) {
			for _, host := range []string{"m1", "n1", "n2", "n3"} {
				o.edit(host, func(h *Host) { h.CNI.MTU = 0 })
			}
			o.edit("n3", func(h *Host) { h.Uplinks = []Interface{{"ens5", 1450}} })
		}, []string{" MTU: the MTU of pods is 1500 on m1, n1, n2, n3, and packets to other nodes may have 1450 bytes: ens5 of n3 has the MTU 1450 | set cluster.network.mtu: 1450, run deployer apply, and start the pods anew"}},
		"an encapsulation needs room": {vxlan, func(o *Observed) {
			o.Objects.Pools[0].BlockSize = 27
			o.edit("n1", func(h *Host) { h.CNI.MTU, h.CalicoMTU, h.Pods.High = 0, 1450, 1500 })
		}, []string{"n1 MTU: the MTU of pods is 1500, and packets to other nodes may have 1450 bytes: eth0 of n1 has the MTU 1500, of which the encapsulation takes 50 bytes | start the pods anew"}},
		"the CNI configuration is missing, and another program has one": {bgp, func(o *Observed) {
			o.edit("n1", func(h *Host) { h.CNI.File = "" })
			o.edit("n2", func(h *Host) { h.CNI.File = "05-other.conf" })
		}, []string{
			"n1 CNI: /etc/cni/net.d has no configuration, so pods get no network | run deployer apply",
			"n2 CNI: containerd uses /etc/cni/net.d/05-other.conf instead of 10-deployer.conflist | remove the file when its network is not in use",
		}},
		"a network of the user": {cluster.NetworkSpec{Plugin: cluster.PluginNone}, func(o *Observed) {
			o.edit("n1", func(h *Host) { h.CNI.File = "20-own.conflist" })
			o.edit("n2", func(h *Host) { h.CNI.File = "20-own.conflist" })
			o.edit("n3", func(h *Host) { h.CNI.File = "20-own.conflist" })
			o.Objects.Nodes[2].LacksNetwork = true
		}, []string{
			"m1 CNI: /etc/cni/net.d has no configuration, so pods get no network | apply the manifests of your pod network: cluster.network.plugin is none",
			"n2 CNI: the kubelet has no network, though /etc/cni/net.d has 20-own.conflist | look at the pods of your network on the node",
		}},
		"the API does not answer": {calico, func(o *Observed) { o.Objects = Objects{Error: "no API server is ready"} }, []string{" Kubernetes API: no API server is ready | look at deployer status"}},
		"pools": {cluster.NetworkSpec{Plugin: cluster.PluginCalico, Calico: cluster.CalicoSpec{Pools: []cluster.CalicoPool{{Name: "second", CIDR: "10.10.0.0/16"}}}}, func(o *Observed) {
			o.Objects.Blocks = append(o.Objects.Blocks, Block{CIDR: "10.244.1.0/26", Node: "n9", Used: 3})
		}, []string{
			" pools: all 4 blocks of pool default-ipv4-ippool are taken: a node that joins gets no addresses of its own | add a pool to cluster.network.calico.pools, then run deployer apply",
			" pools: the cluster has no pool second | run deployer apply",
			" pools: blocks of addresses belong to nodes that do not exist: n9 | Calico's controllers release them some minutes after the node is gone: kubectl -n kube-system logs deployment/calico-kube-controllers",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := resolved(t, tt.network)
			found := healthy(c)
			tt.change(&found)
			got := Compare(c, found)
			if diff := cmp.Diff(append([]string{}, tt.want...), lines(got)); diff != "" {
				t.Error(diff)
			}
			for _, h := range got.Hosts {
				for _, p := range got.Problems {
					if p.Host == h.Host && !slices.Contains(h.Checks, p.Check) {
						t.Errorf("the row of %s has %v, and there is a problem of %s", h.Host, h.Checks, p.Check)
					}
				}
			}
		})
	}
}

// TestLimit: nodes that were not asked are no problem, and their sessions count as the others see them.
func TestLimit(t *testing.T) {
	t.Parallel()
	c := resolved(t, cluster.NetworkSpec{})
	found := healthy(c)
	found.Hosts = map[string]Host{"n1": found.Hosts["n1"]}
	if got := Compare(c, found); len(got.Problems) != 0 || len(got.Hosts) != 1 || got.Hosts[0].Host != "n1" {
		t.Errorf("%+v", got)
	}
	found.session("n1", "to_n2", "Active")
	if got := lines(Compare(c, found)); len(got) != 1 || !strings.HasPrefix(got[0], "n1 sessions: not established: n2 (Active)") {
		t.Errorf("%q", got)
	}
}

// TestRows are the columns of hosts and pools.
func TestRows(t *testing.T) {
	t.Parallel()
	c := resolved(t, cluster.NetworkSpec{Plugin: cluster.PluginCalico})
	found := healthy(c)
	found.session("n1", "Mesh_10_0_0_4", "Active")
	found.session("n1", "Node_192_0_2_1", established)
	got := Compare(c, found)
	n1 := got.Hosts[1]
	if wanted, up := n1.Wanted(); wanted != 3 || up != 2 || len(n1.Sessions) != 4 || n1.Sessions[3].Peer != "" {
		t.Errorf("%d of %d sessions: %+v", up, wanted, n1.Sessions)
	}
	n1.Sessions = nil
	want := HostStatus{
		Host: "n1", Ranges: []string{"10.244.0.64/26"}, Routes: RoutesStatus{true, 3, 3, []Missing{}}, Addresses: AddressesStatus{1, 64},
		MTU: MTUStatus{Pods: 1450, New: 1450, Allowed: 1500, Uplinks: []Interface{{"eth0", 1500}}}, Checks: []string{"sessions"},
	}
	if diff := cmp.Diff(want, n1); diff != "" {
		t.Error(diff)
	}
	pool := []PoolStatus{{Pool: found.Objects.Pools[0], Blocks: 4, TotalBlocks: 4, Used: 6, Total: 256}}
	if diff := cmp.Diff(pool, got.Pools); diff != "" {
		t.Error(diff)
	}
}

// TestWantedRoutes: texts that are no prefixes, and nodes that the inventory does not have, are left out.
func TestWantedRoutes(t *testing.T) {
	t.Parallel()
	c := resolved(t, cluster.NetworkSpec{})
	found := Objects{Nodes: []Node{{Name: "n1", Range: "10.244.1.0/24"}, {Name: "other", Range: "10.244.9.0/24"}, {Name: "n2", Range: "x; y"}}}
	found.SetRange("m1", "10.244.0.0/24")
	found.SetRange("n2", "10.244.2.0/24")
	found.SetRange("n3", "")
	want := Routes{
		Prefixes: []string{"10.244.0.0/24", "10.244.1.0/24", "10.244.2.0/24"}, Gateways: []string{"10.0.0.1", "10.0.0.2", "10.0.0.3"},
		Own: map[string][]string{"m1": {"10.244.0.0/24"}, "n1": {"10.244.1.0/24"}, "n2": {"10.244.2.0/24"}},
	}
	if diff := cmp.Diff(want, WantedRoutes(c, found)); diff != "" {
		t.Error(diff)
	}
	found.Nodes[0].Range = "10.0.0.0/99"
	if got := WantedRoutes(c, found); len(got.Prefixes) != 2 {
		t.Errorf("%v", got.Prefixes)
	}
}
