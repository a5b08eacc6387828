//go:build lab

package e2e

import (
	"strings"
	"testing"
)

// encryptionKeyRotated replaces the key that encrypts Secrets. A Secret from before is
// still readable, etcd has it with the new key, and the former key is gone.
func encryptionKeyRotated(t *testing.T, s *site, host string) {
	s.Kubectl(host, "create secret generic from-before --from-literal=key=value")
	const keys = "grep -o 'name: key.*' /etc/kubernetes/encryption.yaml"
	former := strings.TrimSpace(s.Shell(host, keys))
	s.Must("certs", "rotate-encryption-key")
	now := strings.TrimSpace(s.Shell(host, keys))
	if now == former || strings.Contains(now, "\n") {
		t.Errorf("%s has the keys %q after the rotation, and had %q", host, now, former)
	}
	if value := s.Kubectl(host, "get secret from-before -o 'jsonpath={.data.key}'"); value != "dmFsdWU=" {
		t.Errorf("the Secret has %q after the rotation", value)
	}
	const pki = "/etc/kubernetes/pki/etcd/"
	stored := s.Shell(host, "etcdctl --cacert "+pki+"ca.crt --cert "+pki+"healthcheck-client.crt --key "+pki+"healthcheck-client.key"+
		" get --print-value-only /registry/secrets/default/from-before | head -c 60 | tr -cd '[:print:]'")
	if want := "k8s:enc:secretbox:v1:" + strings.TrimPrefix(now, "name: ") + ":"; !strings.HasPrefix(stored, want) {
		t.Errorf("etcd has the Secret as %q, want %s", stored, want)
	}
	s.Kubectl(host, "delete secret from-before")
	if _, r := s.Events(s.Must("install", "--output", "json")); r.Changed() != 0 {
		t.Errorf("install after a rotation: %d changed, want 0", r.Changed())
	}
}
