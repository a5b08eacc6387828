package cluster_test

import (
	"slices"
	"strings"
	"testing"

	"deployer/cluster"
)

// etcdCalicoCluster resolves a cluster whose Calico has its objects in etcd, with etcd on hosts of its own.
func etcdCalicoCluster(t *testing.T) *cluster.Cluster {
	t.Helper()
	spec := cluster.Spec{Network: cluster.NetworkSpec{Plugin: cluster.PluginCalico, Calico: cluster.CalicoSpec{Datastore: cluster.DatastoreEtcd, Typha: cluster.TyphaAuto}}}
	spec.Network.MeshBelow = 1000
	return mustResolve(t, spec, fleet(masters(1), hosts("e", 21, 3, "etcd"), hosts("n", 1000, 60, "minion")))
}

// TestEtcdOfCalicoIsApart: the members of a host share no port, directory, certificate or authority, and no
// host gets a certificate of the cluster's own etcd for Calico.
func TestEtcdOfCalicoIsApart(t *testing.T) {
	c := etcdCalicoCluster(t)
	n := c.Nodes["e1"]
	for _, flag := range []string{"data-dir", "listen-client-urls", "listen-peer-urls", "advertise-client-urls", "initial-cluster-token", "listen-metrics-urls",
		"cert-file", "key-file", "trusted-ca-file", "peer-cert-file", "peer-key-file", "peer-trusted-ca-file"} {
		own, calico := flagOf(n.Args.Etcd, flag), flagOf(n.Args.EtcdCalico, flag)
		if own == "" || calico == "" || own == calico {
			t.Errorf("--%s is %q and %q", flag, own, calico)
		}
	}
	for _, name := range []string{"client-cert-auth", "peer-client-cert-auth"} {
		if got := flagOf(n.Args.EtcdCalico, name); got != "true" {
			t.Errorf("--%s is %q", name, got)
		}
	}
	for name, n := range c.Nodes {
		for _, cert := range n.Certificates {
			if cert.Authority == cluster.AuthorityEtcd && !n.IsEtcd && !n.IsMaster {
				t.Errorf("%s has the certificate %s of the cluster's own etcd", name, cert.Name)
			}
			if cert.Authority == cluster.AuthorityEtcdCalico && cert.CN == cluster.EtcdRoot && !n.IsEtcd {
				t.Errorf("%s has the certificate of root", name)
			}
		}
	}
}

// TestClientsOfCalicoEtcd checks which users each kind of host is, and that there is no Typha.
func TestClientsOfCalicoEtcd(t *testing.T) {
	c := etcdCalicoCluster(t)
	for host, want := range map[string][]string{
		"m1": {"calico-node", "calico-cni", "calico-kube-controllers", "calicoctl"},
		"e1": {"e1", "e1", "root"},
		"n1": {"calico-node", "calico-cni"},
	} {
		var users []string
		for _, cert := range c.Nodes[host].Certificates {
			if cert.Authority == cluster.AuthorityEtcdCalico {
				users = append(users, cert.CN)
			}
		}
		if !slices.Equal(users, want) {
			t.Errorf("%s is %q, want %q", host, users, want)
		}
		if !slices.Contains(c.Nodes[host].Authorities, cluster.CAPath(cluster.AuthorityEtcdCalico)) {
			t.Errorf("%s lacks the authority", host)
		}
	}
	if len(c.Network.Calico.Typha) > 0 {
		t.Errorf("Typha runs on %q", c.Network.Calico.Typha)
	}
}

// TestSessionsWithEtcd: reflectors, routers and passwords do not depend on the datastore.
func TestSessionsWithEtcd(t *testing.T) {
	spec := cluster.Spec{Network: cluster.NetworkSpec{Plugin: cluster.PluginCalico, MeshBelow: 3,
		Calico: cluster.CalicoSpec{Datastore: cluster.DatastoreEtcd},
		BGP:    cluster.BGPSpec{Peers: []cluster.BGPPeerSpec{{Name: "tor", Address: "172.31.0.2", ASN: 64513}}}}}
	c := mustResolve(t, spec, fleet(masters(3), hosts("n", 1000, 2, "minion")))
	if c.Network.Authentication != cluster.AuthenticationAuto || c.Network.Mesh || len(c.Network.Reflectors) == 0 || len(c.Nodes["n1"].BGP.Routers) != 1 {
		t.Errorf("authentication %s, mesh %v, reflectors %q", c.Network.Authentication, c.Network.Mesh, c.Network.Reflectors)
	}
}

// TestWithoutEtcdOfCalico checks that a cluster with the other datastore has no trace of it.
func TestWithoutEtcdOfCalico(t *testing.T) {
	c := withCalico(t, cluster.NetworkSpec{}, masters(3))
	if _, err := c.EtcdNamed(cluster.EtcdCalico); err == nil || !strings.Contains(err.Error(), "it has etcd") {
		t.Errorf("EtcdNamed: %v", err)
	}
	n := c.Nodes["m1"]
	if n.EtcdCalico != nil || slices.Contains(n.Units, "etcd-calico.service") || len(c.OptionalAuthorities()) > 0 || c.UsesCalicoEtcd(n) {
		t.Errorf("m1 has %v, %v", n.EtcdCalico, n.Units)
	}
	for _, cert := range n.Certificates {
		if cert.Authority == cluster.AuthorityEtcdCalico {
			t.Errorf("m1 has %s", cert.Name)
		}
	}
}
