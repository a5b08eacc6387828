package inuse

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/actiontest"
	"deployer/tasks/control/etcd"
	"deployer/tasks/control/keyring"
	"deployer/tasks/control/kube/kubetest"
)

// site is a cluster of the master m1 and the minion n1 that is in use.
type site struct {
	*actiontest.Context
	cluster *cluster.Cluster
	api     *kubetest.API
	members []etcd.Entry
}

func newSite(t *testing.T) *site {
	t.Helper()
	c, err := cluster.Resolve(cluster.Spec{}, []cluster.Host{
		{Name: "m1", Address: "10.0.0.1", Roles: []string{cluster.RoleMaster}},
		{Name: "n1", Address: "10.0.0.2", Roles: []string{cluster.RoleMinion}},
	})
	if err != nil {
		t.Fatal(err)
	}
	keys, _, err := keyring.Complete(nil, time.Now(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &site{cluster: c, api: &kubetest.API{}, members: []etcd.Entry{{ID: 1, Name: "m1", PeerURLs: []string{"https://10.0.0.1:2380"}, ClientURLs: []string{"https://10.0.0.1:2379"}}}}
	server := serve(t, keys, s.api)
	s.Context = &actiontest.Context{Name: "m1", Hosts: []string{"m1", "n1"}, Provided: engine.Services{}, Results: map[string]map[string]engine.Output{}}
	for i, name := range s.Hosts {
		s.Results[name] = map[string]engine.Output{
			"settings": {"node": name, "member": "", "domain": "cluster.local", "service_cidr": "", "issuer_domain": "", "cni": "bridge"},
			"network": {"files": map[string]any{
				"/etc/cni/net.d/10-deployer.conflist": fmt.Sprintf(`{"plugins": [{"ipam": {"ranges": [[{"subnet": "10.244.%d.0/24"}]]}}]}`, i),
				"/etc/deployer/bird.conf":             "protocol bgp 'to_n1' from node {\n}\n",
			}},
		}
		s.putNode(name, fmt.Sprintf("10.244.%d.0/24", i))
	}
	s.Results["m1"]["settings"]["member"] = "m1"
	s.Results["m1"]["settings"]["service_cidr"] = "10.96.0.0/16"
	s.api.Put("/api/v1/namespaces/default/services/kubernetes", map[string]any{"spec": map[string]any{"clusterIP": "10.96.0.1"}})
	s.api.Put("/apis/networking.k8s.io/v1/servicecidrs/kubernetes", map[string]any{"spec": map[string]any{"cidrs": []any{"10.96.0.0/16"}}})
	s.DialFunc = func(ctx context.Context, _, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
	}
	s.RunFunc = func(_ context.Context, host, module string, _ engine.Module) (engine.Result, error) {
		if host != "m1" || module != "ca_read" {
			return engine.Result{}, errors.New("unexpected " + module + " on " + host)
		}
		files := map[string]any{}
		for path, content := range keys.Files() {
			files[path] = string(content)
		}
		return engine.Result{Output: engine.Output{"files": files}}, nil
	}
	engine.Provide(s.Provided, c)
	engine.Provide(s.Provided, etcd.Opener(func(string, string) (etcd.Member, error) { return member{site: s}, nil }))
	return s
}

// serve serves an API with a certificate of the cluster's authority.
func serve(t *testing.T, keys *keyring.Keys, api *kubetest.API) *httptest.Server {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	text, err := keys.Sign(keyring.Certificate{Name: "apiserver", Authority: keyring.Cluster, CommonName: "kube-apiserver", IPs: []net.IP{net.IPv4(127, 0, 0, 1)}, Server: true}, key.Public(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	server := httptest.NewUnstartedServer(api)
	server.EnableHTTP2 = true
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{{Certificate: [][]byte{block.Bytes}, PrivateKey: key}}}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

func (s *site) putNode(name, podCIDR string) {
	s.api.Put("/api/v1/nodes/"+name, map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": name}, "spec": map[string]any{"podCIDR": podCIDR}})
}

// member is a member of etcd that serves. Its other methods are not called.
type member struct {
	etcd.Member
	site *site
}

func (m member) Status(context.Context) (etcd.Status, error) {
	return etcd.Status{ClusterID: 7, MemberID: 1}, nil
}
func (m member) Read(context.Context) error                    { return nil }
func (m member) Members(context.Context) ([]etcd.Entry, error) { return m.site.members, nil }
func (m member) Close() error                                  { return nil }

// TestConflictsOfAClusterInUse reads a cluster through its fakes of etcd and of the API, and
// checks what is found, and that nothing is when the cluster equals the inventory.
func TestConflictsOfAClusterInUse(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*site)
		from   Sources
		want   []string // check and a part of the text of each row
	}{
		"equal": {change: func(*site) {}},
		"a new cluster": {change: func(s *site) {
			s.DialFunc, s.RunFunc, s.Results = nil, nil, nil
		}},
		"a lost node and member": {change: func(s *site) {
			s.putNode("n2", "10.244.2.0/24")
			s.members = append(s.members, etcd.Entry{ID: 2, Name: "m2", PeerURLs: []string{"https://10.0.0.9:2380"}, ClientURLs: []string{"https://10.0.0.9:2379"}})
		}, want: []string{"nodes the cluster has nodes that the inventory does not name: n2", "etcd members etcd has members that the inventory does not name: m2"}},
		"they leave": {change: func(s *site) { s.putNode("n2", "10.244.2.0/24") }, from: Sources{Leaving: []string{"n2"}}},
		"a lost node, no API": {change: func(s *site) {
			s.DialFunc = nil
			s.Results["n1"]["network"]["files"].(map[string]any)["/etc/deployer/bird.conf"] = "protocol bgp 'to_n2' from node {\n}\nprotocol bgp 'to_10.0.0.77' from node {\n}\n"
		}, want: []string{"nodes the API does not answer, and nodes have BGP sessions with hosts that the inventory does not name: n2"}},
		"a lost node, in a restore": {change: func(s *site) { s.putNode("n2", "10.244.2.0/24") }, from: Sources{HostsOnly: true}},
		"swapped, in a restore": {change: func(s *site) { s.Results["n1"]["settings"]["node"] = "n9" }, from: Sources{HostsOnly: true},
			want: []string{"identity 10.0.0.2 is the node n9; the inventory calls it n1"}},
		"Services elsewhere": {change: func(s *site) {
			s.api.Put("/apis/networking.k8s.io/v1/servicecidrs/kubernetes", map[string]any{"spec": map[string]any{"cidrs": []any{"10.80.0.0/16"}}})
		}, want: []string{"service_cidr service_cidr is 10.96.0.0/16, and the ServiceCIDR kubernetes of the cluster is 10.80.0.0/16"}},
		"a pod range elsewhere": {change: func(s *site) { s.putNode("n1", "10.9.0.0/24") }, want: []string{"pod_cidr pod_cidr is 10.244.0.0/16, and nodes have ranges outside of it: n1 10.9.0.0/24"}},
	} {
		s := newSite(t)
		c.change(s)
		c.from.Settings, c.from.Network = "settings", "network"
		rows := Conflicts(t.Context(), s, s.cluster, c.from)
		var got []string
		for _, r := range rows {
			got = append(got, r.Check+" "+r.Detail)
		}
		if len(got) != len(c.want) || len(s.Warnings()) > 0 {
			t.Errorf("%s: %q, warnings %q; want %q", name, got, s.Warnings(), c.want)
			continue
		}
		for i, want := range c.want {
			if !strings.HasPrefix(got[i], want) || rows[i].Fix == "" {
				t.Errorf("%s: %q, advice %q; want %q", name, got[i], rows[i].Fix, want)
			}
		}
	}
}

// TestKeptRangesAreWarnings: every view of the run shows which nodes a changed node_prefix does not
// reach.
func TestKeptRangesAreWarnings(t *testing.T) {
	s := newSite(t)
	s.cluster.NodePrefix = 23
	if rows := Conflicts(t.Context(), s, s.cluster, Sources{Settings: "settings", Network: "network"}); len(rows) > 0 {
		t.Errorf("conflicts %v", rows)
	}
	s.cluster.Nodes["n1"].KubeletConfig["maxPods"] = 254
	if rows := Conflicts(t.Context(), s, s.cluster, Sources{Settings: "settings", Network: "network"}); len(rows) != 1 || rows[0].Check != "max_pods" {
		t.Errorf("a range that is too small: %v", rows)
	}
	s.Results["n1"]["settings"]["max_pods"] = "254"
	if rows := Conflicts(t.Context(), s, s.cluster, Sources{Settings: "settings", Network: "network"}); len(rows) > 0 {
		t.Errorf("a range that is too small already: %v", rows)
	}
	if got := s.Warnings(); len(got) == 0 || !strings.HasPrefix(got[0], "node_prefix 23 holds for nodes that join; these keep their ranges: m1 10.244.0.0/24") {
		t.Errorf("warnings %q", got)
	}
}

// TestUnchanged: the action fails with the table of all conflicts, and passes without one.
func TestUnchanged(t *testing.T) {
	s := newSite(t)
	action := &Unchanged{Settings: "settings"}
	if _, err := action.Check(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	s.putNode("n2", "10.244.2.0/24")
	_, err := action.Check(t.Context(), s)
	var failure *engine.Failure
	if !errors.As(err, &failure) || !strings.Contains(failure.Detail, "does not name: n2") {
		t.Errorf("%v", err)
	}
}

// TestCalicoInUse: a run that replaces Calico reads its blocks, and the objects of users, of which those
// of deployer are none.
func TestCalicoInUse(t *testing.T) {
	s := newSite(t)
	for _, host := range s.Hosts {
		s.Results[host]["settings"]["network_plugin"] = "calico"
	}
	list := func(path string, items ...map[string]any) {
		s.api.Put(path, map[string]any{"items": items})
	}
	named := func(name, namespace string, labels map[string]any, spec map[string]any) map[string]any {
		return map[string]any{"metadata": map[string]any{"name": name, "namespace": namespace, "labels": labels}, "spec": spec}
	}
	const calico = "/apis/crd.projectcalico.org/v1/"
	list(calico+"ippools", named("default-ipv4-ippool", "", nil, map[string]any{"cidr": "10.244.0.0/16", "blockSize": 26}))
	list(calico+"ipamblocks", named("10-244-0-64-26", "", nil, map[string]any{"cidr": "10.244.0.64/26", "affinity": "host:n1", "allocations": []any{nil, 0, 1}}))
	list("/apis/networking.k8s.io/v1/networkpolicies", named("deny", "web", nil, nil))
	list(calico+"bgppeers", named("deployer-reflectors", "", map[string]any{"app.kubernetes.io/managed-by": "deployer"}, nil), named("rack-a", "", nil, nil))
	from := Sources{Settings: "settings", Network: "network", ChangesPlugin: true}
	var got []string
	for _, r := range Conflicts(t.Context(), s, s.cluster, from) {
		got = append(got, r.Detail)
	}
	if len(got) != 2 || !strings.Contains(got[0], "10.244.0.64/26 of n1 in 10.244.0.0/24 of m1 (2)") || !strings.HasSuffix(got[1], ": NetworkPolicy web/deny, BGPPeer rack-a") {
		t.Errorf("%q", got)
	}
	from.DropsPolicies = true
	if got := Conflicts(t.Context(), s, s.cluster, from); len(got) != 1 {
		t.Errorf("with --drop-policies: %v", got)
	}
}

// TestPoolsOfCalicoInUse: pools of the inventory are compared with those of the API, and a pool that the
// cluster does not have with the blocks that a former one has left.
func TestPoolsOfCalicoInUse(t *testing.T) {
	const calico = "/apis/crd.projectcalico.org/v1/"
	pool := func(name, cidr string) map[string]any {
		return map[string]any{"metadata": map[string]any{"name": name}, "spec": map[string]any{"cidr": cidr, "blockSize": 27, "ipipMode": "Never", "vxlanMode": "Never"}}
	}
	for name, c := range map[string]struct {
		pools []map[string]any
		want  []string
	}{
		"none left":    {nil, []string{"a former pool has left others in its range 10.245.0.0/16: 10.245.0.64/27 (2 in use)"}},
		"renamed":      {[]map[string]any{pool("rack-a", "10.245.0.0/16")}, []string{"the cluster has a pool rack-a with 10.245.0.0/16"}},
		"other blocks": {[]map[string]any{pool("rack-b", "10.245.0.0/16")}, []string{"the pool rack-b has the block_size 27, and the inventory says 26"}},
	} {
		s := newSite(t)
		var err error
		s.cluster, err = cluster.Resolve(cluster.Spec{Network: cluster.NetworkSpec{Plugin: cluster.PluginCalico, Calico: cluster.CalicoSpec{
			Pools: []cluster.CalicoPool{{Name: "rack-b", CIDR: "10.245.0.0/16"}},
		}}}, []cluster.Host{
			{Name: "m1", Address: "10.0.0.1", Roles: []string{cluster.RoleMaster}},
			{Name: "n1", Address: "10.0.0.2", Roles: []string{cluster.RoleMinion}},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, host := range s.Hosts {
			s.Results[host]["settings"]["network_plugin"] = "calico"
		}
		s.api.Put(calico+"ippools", map[string]any{"items": c.pools})
		s.api.Put(calico+"ipamblocks", map[string]any{"items": []map[string]any{
			{"metadata": map[string]any{"name": "10-245-0-64-27"}, "spec": map[string]any{"cidr": "10.245.0.64/27", "affinity": "host:n1", "allocations": []any{nil, 0, 1}}},
		}})
		var got []string
		for _, r := range Conflicts(t.Context(), s, s.cluster, Sources{Settings: "settings", Network: "network"}) {
			got = append(got, r.Detail)
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
			continue
		}
		for i, want := range c.want {
			if !strings.Contains(got[i], want) {
				t.Errorf("%s: %q, want %q", name, got, c.want)
			}
		}
	}
}
