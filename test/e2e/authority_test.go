//go:build lab

package e2e

import (
	"strings"
	"testing"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// TestRotations replaces the key that encrypts Secrets and authorities on a single host, whose
// API is away while it restarts.
func TestRotations(t *testing.T) {
	s := newSite(t, plan.Spec{Masters: 1})
	s.Edit(func(inv map[string]any) { harness.Section(inv, "roles")["minion"] = []any{"m1"} })
	s.Must("install")
	encryptionKeyRotated(t, s, "m1")
	authorityRotated(t, s, "m1")
	s.Must("verify")
}

// authorityRotated replaces the authority of etcd and that of the front proxy.
// Afterwards etcd trusts only the new authority, the Secrets in it are readable, and
// an install changes nothing.
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
