package compare_test

import (
	"fmt"
	"testing"

	"deployer/cluster"
	"deployer/cluster/compare"
)

// resolve returns a cluster of masters m1, m2, ... and minions n1, n2, ...
func resolve(t *testing.T, masters, minions int) *cluster.Cluster {
	t.Helper()
	var hosts []cluster.Host
	for i := range masters {
		hosts = append(hosts, cluster.Host{Name: fmt.Sprintf("m%d", i+1), Address: fmt.Sprintf("192.0.2.%d", i+1), Roles: []string{cluster.RoleMaster}})
	}
	for i := range minions {
		hosts = append(hosts, cluster.Host{Name: fmt.Sprintf("n%d", i+1), Address: fmt.Sprintf("192.0.2.%d", i+101), Roles: []string{cluster.RoleMinion}})
	}
	c, err := cluster.Resolve(cluster.Spec{}, hosts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// healthy returns the result of a survey of a cluster that equals c.
func healthy(c *cluster.Cluster) compare.Observed {
	o := compare.Observed{Hosts: map[string]compare.Host{}, Etcd: &cluster.EtcdLive{ClusterID: 1}}
	for i, name := range c.Order {
		n := c.Nodes[name]
		o.Hosts[name] = compare.Host{HasKubelet: n.IsNode, HasEtcdData: n.IsEtcd, HasAPIServer: n.RunsAPIServer,
			HoldsAuthorities: n.IsMaster, HasProxyUnit: n.RunsProxyUnit}
		if n.IsNode {
			o.Nodes = append(o.Nodes, compare.Node{Name: name, Ready: true, Version: c.Versions.Kubernetes})
		}
		if n.IsEtcd {
			o.Etcd.Members = append(o.Etcd.Members, cluster.LiveMember{ID: uint64(i + 1), Name: name, PeerURLs: []string{n.Etcd.PeerURL}, Started: true, Healthy: true}) //nolint:gosec // few hosts
		}
	}
	return o
}

// host changes the result of the survey of one host.
func host(o *compare.Observed, name string, change func(*compare.Host)) {
	h := o.Hosts[name]
	change(&h)
	o.Hosts[name] = h
}

// silent makes a host unreachable.
func silent(o *compare.Observed, names ...string) {
	for _, name := range names {
		o.Hosts[name] = compare.Host{Failure: "connection refused"}
	}
}

// stopped makes etcd and the API unreachable.
func stopped(o *compare.Observed) {
	o.Etcd, o.EtcdError, o.Nodes, o.APIError = nil, "no etcd member serves", nil, "connection refused"
}
