//go:build lab

package proxy

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// certificateName is the name in the certificate of TestTLS.
const certificateName = "api.example"

// TestTLS: proxies end TLS with a certificate of the user's own, p1 with a unit, n1 with a static pod. Tokens
// are accepted; certificates of clients and headers with names are not. A new certificate is served after the
// next run, a new authority of the cluster is trusted, and without the setting nothing of it is left.
func TestTLS(t *testing.T) {
	s := harness.New(t, "proxy", plan.Spec{Masters: 1, Minions: 1, Proxies: 1})
	dir := filepath.Dir(s.Inventory)
	authority := issueCertificate(t, dir, 1)
	s.Edit(func(inv map[string]any) {
		inv["roles"] = map[string]any{"master": []any{"m1"}, "minion": []any{"n1"}, "proxy": []any{"p1", "n1"}}
		c := harness.Section(inv, "cluster", "proxy")
		c["port"] = 8443 // n1 has its local proxy at 6443
		c["tls"] = map[string]any{"certificate_file": "api.crt", "private_key_file": "api.key"}
	})
	s.Must("install")
	s.RequireTexts(s.Must("install").All(), "0 changed")
	s.RequireExit(s.Run("apply", "-i", s.Inventory, "--check", "--detailed-exitcode"), 0)
	s.CopyTo("m1", authority, "/tmp/own.crt", "0644")

	s.Kubectl("m1", "create serviceaccount reader")
	s.Kubectl("m1", "create clusterrolebinding reader --clusterrole=cluster-admin --serviceaccount=default:reader")
	s.Kubectl("m1", `run talker --image="`+s.ProbeImage("n1")+`" --image-pull-policy=Never --overrides='{"spec":{"nodeName":"n1"}}' -- probe serve --listen :8088`)
	s.Kubectl("m1", "wait --for=condition=Ready pod/talker --timeout=60s")
	s.Shell("m1", "umask 077; kubectl --kubeconfig /etc/kubernetes/admin.conf create token reader --duration=2h >/tmp/token")
	requireTokens(s)

	for _, proxy := range []string{"p1", "n1"} {
		url := "https://" + s.Address(proxy)
		out := s.Shell("m1", "kubectl --kubeconfig /etc/kubernetes/admin.conf --server "+url+" --certificate-authority /tmp/own.crt --tls-server-name "+certificateName+" get nodes 2>&1; true")
		s.RequireTexts(out, "Unauthorized")
		out = s.Shell("m1", "curl -sS --cacert /tmp/own.crt --connect-to ::"+s.Address(proxy)+": -H 'X-Remote-User: admin' -H 'X-Remote-Group: system:masters' https://"+certificateName+"/api/v1/nodes")
		s.RequireTexts(out, "Unauthorized")
		s.Shell(proxy, "test $(stat -c %a "+map[string]string{"p1": "/etc/deployer", "n1": "/etc/kubernetes/proxy"}[proxy]+"/api-tls.pem) = 600")
	}

	issueCertificate(t, dir, 2)
	s.CopyTo("m1", authority, "/tmp/own.crt", "0644")
	s.Must("install")
	for _, proxy := range []string{"p1", "n1"} {
		s.RequireTexts(s.Shell("m1", "openssl s_client -connect "+s.Address(proxy)+":443 -servername "+certificateName+" </dev/null 2>/dev/null | openssl x509 -noout -serial"), "serial=02")
	}
	requireTokens(s)

	s.Must("certs", "rotate-ca", "--yes")
	requireTokens(s)
	s.RequireTexts(s.Must("install").All(), "0 changed")

	s.Edit(func(inv map[string]any) { delete(harness.Section(inv, "cluster", "proxy"), "tls") })
	s.Must("install")
	s.Shell("p1", "test ! -e /etc/deployer/api-tls.pem && ! ss -Hltn 'sport = :443' | grep -q .")
	s.Shell("n1", "test ! -e /etc/kubernetes/proxy/api-tls.pem && ! ss -Hltn 'sport = :443' | grep -q .")
	s.Must("verify")
}

// requireTokens requires that the token is accepted through each proxy, for requests, watches and connections that
// are upgraded.
func requireTokens(s *harness.Site) {
	s.T.Helper()
	for _, proxy := range []string{"p1", "n1"} {
		kubectl := "kubectl --server https://" + s.Address(proxy) + ` --token "$(cat /tmp/token)" --certificate-authority /tmp/own.crt --tls-server-name ` + certificateName + " "
		s.Eventually(30*time.Second, "a request through "+proxy, func() error {
			out := s.Shell("m1", kubectl+"auth whoami 2>&1; true")
			if !strings.Contains(out, "system:serviceaccount:default:reader") {
				return fmt.Errorf("whoami: %s", out)
			}
			return nil
		})
		s.RequireTexts(s.Shell("m1", kubectl+"get namespaces"), "kube-system")
		s.RequireTexts(s.Shell("m1", "timeout 5 "+kubectl+"get namespaces --watch; true"), "kube-system")
		forwarded := s.Shell("m1", "timeout 20 "+kubectl+"port-forward pod/talker 18088:8088 >/tmp/forward 2>&1 & pid=$!; sleep 3; curl -sS -m 10 http://127.0.0.1:18088/ok; kill $pid; wait")
		s.RequireTexts(forwarded, "ok")
	}
}

// issueCertificate writes a certificate and its key to api.crt and api.key in a directory, and returns the
// file of its authority, which is the certificate itself.
func issueCertificate(t *testing.T, dir string, serial int64) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: certificateName}, DNSNames: []string{certificateName}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{"api.crt": {Type: "CERTIFICATE", Bytes: der}, "api.key": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "api.crt")
}
