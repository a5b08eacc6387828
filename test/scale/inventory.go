package main

import (
	"fmt"
	"net/netip"
	"time"

	"deployer/cluster"
	"deployer/test/bench/kube"
)

const (
	masterCount = 3
	podCIDR     = "10.128.0.0/13"
	// profileNodes is the number of minions in the inventory, and so decides the size profile. The
	// benchmark may play fewer.
	profileNodes = 1000
	// proxyConnections is the maximum number of connections of the proxy. The profile's 16384 need more open
	// files than a process may have on some machines, and nodes have two each.
	proxyConnections = 8192
)

// The settings of the keeper: the least times that it takes, and the port of its metrics.
const (
	unknownFor     = time.Minute
	unreachableFor = 5 * time.Minute
	terminatingFor = 30 * time.Second // the default
	keeperPort     = 10275
)

// proxyNames are the hosts whose API proxies all nodes use, in turns.
var proxyNames = []string{"p1", "p2"}

// settings are the settings of the inventory that the benchmark varies.
type settings struct {
	proxy    string        // kind of the API proxy; empty: haproxy
	timeout  time.Duration // cluster.proxy.timeout; 0: the default
	inflight [2]int        // reads and writes in flight in one API server; 0: the default
}

// resolve returns the cluster that deployer would install.
func resolve(s settings) (*cluster.Cluster, error) {
	spec := cluster.Spec{
		Kubernetes: kube.KubernetesVersion, PodCIDR: podCIDR,
		Etcd:  cluster.EtcdSpec{Events: cluster.EventsSpec{Enabled: true}},
		Proxy: cluster.ProxySpec{Kind: s.proxy, Timeout: s.timeout, WorkerConnections: proxyConnections},
		API:   cluster.APISpec{Audit: cluster.AuditSpec{MaxBackups: 1}}, // logs are in memory
		Keeper: cluster.KeeperSpec{ // stage keeper starts it
			Clear:          cluster.KeeperClearSpec{UnknownFor: unknownFor},
			Purge:          cluster.KeeperPurgeSpec{Enabled: true, UnreachableFor: unreachableFor},
			MetricsAddress: fmt.Sprintf(":%d", keeperPort),
		},
	}
	args := map[string]any{}
	for i, name := range []string{"max-requests-inflight", "max-mutating-requests-inflight"} {
		if s.inflight[i] > 0 {
			args[name] = s.inflight[i]
		}
	}
	if len(args) > 0 {
		spec.Overrides = map[string]any{"apiserver": map[string]any{"extra_args": args}}
	}
	var hosts []cluster.Host
	add := func(name, role string) {
		hosts = append(hosts, cluster.Host{Name: name, Address: address(len(hosts)), Roles: []string{role}})
	}
	for i := range masterCount {
		add(masterName(i), cluster.RoleMaster)
	}
	for _, name := range proxyNames {
		add(name, cluster.RoleProxy)
	}
	for i := range profileNodes {
		add(nodeName(i), cluster.RoleMinion)
	}
	return cluster.Resolve(spec, hosts)
}

func masterName(i int) string { return fmt.Sprintf("m%d", i+1) }

func nodeName(i int) string { return fmt.Sprintf("n%04d", i+1) }

// address returns the address of the host with an index.
func address(i int) string {
	i += 11
	return netip.AddrFrom4([4]byte{10, 99, byte(i >> 8), byte(i)}).String()
}

// proxyConfig renders the configuration of the API proxy of a host, as the role of external proxies does.
func proxyConfig(c *cluster.Cluster, host string) (string, error) {
	return render(".", c.Proxy.Kind+".conf.tmpl", c, host)
}
