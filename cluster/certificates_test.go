package cluster_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"deployer/cluster"

	"github.com/google/go-cmp/cmp"
)

func TestCertificatesTable(t *testing.T) {
	c := mustResolve(t, cluster.Spec{API: cluster.APISpec{SANs: []string{"api.example.com", "203.0.113.7"}}},
		fleet(masters(1), minions(1), hosts("p", 31, 1, "proxy")))
	short := func(cert cluster.Certificate) string {
		return fmt.Sprintf("%s by %s: CN=%s O=%s %s", cert.Name, cert.Authority, cert.CN, strings.Join(cert.Orgs, "+"), strings.Join(cert.Usages, "+"))
	}
	want := map[string][]string{
		"m1": {
			"apiserver by cluster: CN=kube-apiserver O= server",
			"apiserver-kubelet-client by cluster: CN=kube-apiserver-kubelet-client O= client",
			"apiserver-etcd-client by etcd: CN=kube-apiserver-etcd-client O= client",
			"front-proxy-client by front-proxy: CN=front-proxy-client O= client",
			"controller-manager by cluster: CN=system:kube-controller-manager O= client",
			"scheduler by cluster: CN=system:kube-scheduler O= client",
			"admin by cluster: CN=kubernetes-admin O=deployer:cluster-admins client",
			"keeper by cluster: CN=deployer:keeper O= client",
			"keeper-etcd-client by etcd: CN=deployer:keeper O= client",
			"etcd/server by etcd: CN=m1 O= server+client",
			"etcd/peer by etcd: CN=m1 O= server+client",
			"etcd/healthcheck-client by etcd: CN=kube-etcd-healthcheck-client O= client",
			"kubelet-client by cluster: CN=system:node:m1 O=system:nodes client",
			"kubelet-serving by cluster: CN=system:node:m1 O=system:nodes server",
			"kube-proxy by cluster: CN=system:kube-proxy O= client",
		},
		"n1": {
			"kubelet-client by cluster: CN=system:node:n1 O=system:nodes client",
			"kubelet-serving by cluster: CN=system:node:n1 O=system:nodes server",
			"kube-proxy by cluster: CN=system:kube-proxy O= client",
		},
		"p1":      nil,
		"unknown": nil,
	}
	for host, lines := range want {
		var got []string
		for _, cert := range cluster.Certificates(c, host) {
			got = append(got, short(cert))
		}
		if diff := cmp.Diff(lines, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", host, diff)
		}
	}
	api := cluster.Certificates(c, "m1")[0]
	wantDNS := []string{"m1", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local", "p1", "api.example.com"}
	wantIPs := []string{"172.31.0.11", "127.0.0.1", "::1", "10.96.0.1", "172.31.0.32", "203.0.113.7"}
	if diff := cmp.Diff(wantDNS, api.DNS); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantIPs, api.IPs); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
}

// TestCertificatesStayOnTheirHost: no host can have a certificate that speaks for
// another host, and every server certificate is valid for the address that clients
// dial.
func TestCertificatesStayOnTheirHost(t *testing.T) {
	c := mustResolve(t, cluster.Spec{}, fleet(masters(3), hosts("e", 21, 3, "etcd"), minions(20)))
	for _, n := range c.Nodes {
		for _, cert := range n.Certificates {
			if slices.Contains(cert.Usages, "server") && !slices.Contains(cert.IPs, n.IP) {
				t.Errorf("%s of %s does not hold for %s", cert.Name, n.Name, n.IP)
			}
			if slices.Contains(cert.Orgs, "system:masters") {
				t.Errorf("%s of %s has rights that cannot be taken away", cert.Name, n.Name)
			}
			for _, other := range c.Nodes {
				if other.Name == n.Name {
					continue
				}
				if slices.Contains(cert.DNS, other.Name) || slices.Contains(cert.IPs, other.IP) || strings.HasSuffix(cert.CN, ":"+other.Name) || cert.CN == other.Name {
					t.Errorf("%s of %s speaks for %s", cert.Name, n.Name, other.Name)
				}
			}
			for _, ip := range cert.IPs {
				if _, err := netip.ParseAddr(ip); err != nil {
					t.Errorf("%s of %s: %v", cert.Name, n.Name, err)
				}
			}
		}
	}
}
