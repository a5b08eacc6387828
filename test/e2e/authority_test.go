//go:build lab

package e2e

import (
	"strings"
	"testing"
)

// authorityRotated replaces the authority of etcd and that of the front proxy. etcd trusts
// the new one only, the Secrets in it are readable, and an install finds nothing to do.
func authorityRotated(t *testing.T, s *site, host string) {
	const etcd = "/etc/kubernetes/pki/etcd/"
	s.Shell(host, "mkdir /root/former && cp "+etcd+"ca.crt "+etcd+"healthcheck-client.* /root/former")
	s.Must("certs", "rotate-ca", "--authority", "etcd,front-proxy", "--yes")
	const health = " endpoint health --command-timeout=3s"
	s.Shell(host, "etcdctl --cacert "+etcd+"ca.crt --cert "+etcd+"healthcheck-client.crt --key "+etcd+"healthcheck-client.key"+health)
	s.Shell(host, "! etcdctl --cacert "+etcd+"ca.crt --cert /root/former/healthcheck-client.crt --key /root/former/healthcheck-client.key"+health)
	s.Shell(host, "! cmp -s "+etcd+"ca.crt /root/former/ca.crt; rm -r /root/former")
	if n := strings.TrimSpace(s.Shell(host, "grep -c BEGIN "+etcd+"ca.crt")); n != "1" {
		t.Errorf("%s has %s authorities of etcd after the rotation, want 1", host, n)
	}
	s.Must("certs", "list")
	if _, r := s.Events(s.Must("install", "--output", "json")); r.Changed() != 0 {
		t.Errorf("install after the rotation of an authority: %d changed, want 0", r.Changed())
	}
}
