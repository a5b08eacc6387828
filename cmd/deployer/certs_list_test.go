package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"deployer/cluster"
	"deployer/project"
	"deployer/tasks/control/keyring"
)

// certifiedSite is a cluster of one master and one minion whose hosts have only
// certificates: neither etcd nor the API runs.
type certifiedSite struct {
	*testSite
	cluster *cluster.Cluster
	keys    *keyring.Keys
}

func newCertifiedSite(t *testing.T) *certifiedSite {
	s := newTestSite(t, 2, nil)
	doc := s.fleet.Document(s.site)
	// The rules of clusters refuse addresses of the loopback interface, where the hosts of
	// the test listen.
	names := ""
	for i, h := range s.fleet.Hosts {
		address := fmt.Sprintf("10.9.0.%d", i+1)
		names += fmt.Sprintf("Host %s\n  HostName %s\n", address, h.Address)
		doc["hosts"].(map[string]any)[h.Name].(map[string]any)["address"] = address
	}
	s.write("ssh_config", names)
	doc["ssh"].(map[string]any)["config"] = "ssh_config"
	doc["cluster"] = map[string]any{"name": "prod"}
	doc["roles"] = map[string]any{"master": []string{s.fleet.Hosts[0].Name}, "minion": []string{s.fleet.Hosts[1].Name}}
	data, err := yaml.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	s.write("inventory.yaml", string(data))
	p, err := project.LoadCluster("inventory.yaml", newRunner(env{}).Options)
	if err != nil {
		t.Fatal(err)
	}
	keys, _, err := keyring.Complete(keyring.Files{}, time.Now(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &certifiedSite{s, p.Cluster, keys}
	for i, h := range s.fleet.Hosts {
		c.writeHostFile(i, "/etc/passwd", "root:x:0:0::/:/bin/sh\netcd:x:0:0::/:/bin/sh\n")
		for path, content := range keys.Files() {
			c.writeHostFile(i, path, string(content))
		}
		for _, cert := range p.Cluster.Nodes[h.Name].Certificates {
			c.issue(i, cert.Name, time.Now(), 365*24*time.Hour)
		}
	}
	return c
}

// issue writes a certificate of a host with a new key.
func (c *certifiedSite) issue(host int, name string, at time.Time, validity time.Duration) {
	c.t.Helper()
	for _, cert := range c.cluster.Nodes[c.fleet.Hosts[host].Name].Certificates {
		if cert.Name == name {
			certificate, key := c.sign(cert, at, validity)
			c.writeHostFile(host, cert.CertPath, certificate)
			c.writePrivateFile(host, cert.KeyPath, key)
		}
	}
}

func (c *certifiedSite) writePrivateFile(host int, path, content string) {
	c.t.Helper()
	c.writeHostFile(host, path, content)
	if err := os.Chmod(filepath.Join(c.fleet.Hosts[host].Root, path), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

func (c *certifiedSite) sign(cert cluster.Certificate, at time.Time, validity time.Duration) (certificate, key string) {
	c.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		c.t.Fatal(err)
	}
	spec := keyring.Certificate{
		Name: cert.Name, Authority: cert.Authority, CommonName: cert.CN, Organizations: cert.Orgs, DNSNames: cert.DNS,
		Server: slices.Contains(cert.Usages, "server"), Client: slices.Contains(cert.Usages, "client"), Validity: validity,
	}
	for _, ip := range cert.IPs {
		spec.IPs = append(spec.IPs, net.ParseIP(ip))
	}
	signed, err := c.keys.Sign(spec, private.Public(), at)
	if err != nil {
		c.t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(signed), string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
}

// list returns the output of certs list as JSON, without the rows that are ok.
func (c *certifiedSite) list(code int, args ...string) certificateList {
	c.t.Helper()
	out, _ := c.deployer(code, append([]string{"certs", "list", "-o", "json"}, args...)...)
	var list certificateList
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		c.t.Fatal(err)
	}
	list.Certificates = list.bad()
	return list
}

// TestCertsList lists the certificates of all hosts without etcd and without the API,
// the worst first.
func TestCertsList(t *testing.T) {
	c := newCertifiedSite(t)
	out, _ := c.deployer(exitOK, "certs", "list")
	if !strings.Contains(out, "certificates, all ok") || strings.Count(out, "\n") < 15 {
		t.Errorf("all are ok:\n%s", out)
	}
	const year = 365 * 24 * time.Hour
	m, n := c.fleet.Hosts[0], c.fleet.Hosts[1]
	c.issue(0, "scheduler", time.Now().Add(-360*24*time.Hour), year)
	c.issue(0, "etcd/server", time.Now().Add(-396*24*time.Hour), year)
	c.issue(0, "etcd/peer", time.Now().Add(-395*24*time.Hour), year)
	if err := os.Remove(filepath.Join(m.Root, "/etc/kubernetes/pki/admin.key")); err != nil {
		t.Fatal(err)
	}
	client := slices.IndexFunc(c.cluster.Nodes[n.Name].Certificates, func(cert cluster.Certificate) bool { return cert.Name == "kubelet-client" })
	pem, key := c.sign(c.cluster.Nodes[n.Name].Certificates[client], time.Now().Add(-400*24*time.Hour), year)
	c.writePrivateFile(1, "/var/lib/kubelet/pki/kubelet-client-current.pem", pem+key)
	if err := os.Remove(filepath.Join(n.Root, "/etc/kubernetes/pki/kube-proxy/kube-proxy.crt")); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"n002 kubelet-client, rotated of cluster: expired, -35 days",
		"n001 etcd/server of etcd: expired, -31 days",
		"n001 etcd/peer of etcd: expired, -30 days",
		"n002 kube-proxy of cluster: missing, 0 days",
		"n001 admin of cluster: damaged, 364 days",
		"n001 scheduler of cluster: expiring, 4 days",
	}
	if diff := cmp.Diff(want, texts(c.list(exitUnhealthy))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want[5:], texts(c.list(exitUnhealthy, m.Name))[3:]); diff != "" {
		t.Error(diff)
	}

	// The node has a certificate that another cluster has installed.
	other, _, err := keyring.Complete(keyring.Files{}, time.Now(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.writeHostFile(1, keyring.ClusterCert, string(other.Files()[keyring.ClusterCert]))
	list := c.list(exitUnhealthy)
	for _, row := range list.Certificates {
		if row.Host == n.Name && row.State != "authority" && row.State != "missing" {
			t.Errorf("%s %s is %s", row.Host, row.Path, row.State)
		}
	}
	if got := texts(list); !slices.Contains(got, "n002 authority cluster of cluster: authority, 3649 days") {
		t.Errorf("the authority is not that of the masters: %q", got)
	}
}

// TestCertsListWithoutHosts: a host that cannot be reached is listed.
func TestCertsListWithoutHosts(t *testing.T) {
	c := newCertifiedSite(t)
	c.fleet.Hosts[0].Stop()
	if out, _ := c.deployer(exitPartial, "certs", "list"); !strings.Contains(out, "n001 could not be examined: ") || !strings.Contains(out, "4 certificates, all ok") {
		t.Error(out)
	}
}

func texts(list certificateList) []string {
	var out []string
	for _, row := range list.Certificates {
		out = append(out, fmt.Sprintf("%s %s of %s: %s, %d days", row.Host, row.Name, row.Authority, row.State, row.DaysLeft))
	}
	return out
}
