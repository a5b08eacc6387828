package keeper

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"deployer/keeper/actionlog"
	"deployer/keeper/decide"
)

const requestsPath = "/apis/certificates.k8s.io/v1/certificatesigningrequests/"

// putRequest stores a request of a node for the certificate that its kubelet serves, with DNS names.
func (c *cluster) putRequest(name, node string, names ...string) {
	c.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		c.t.Fatal(err)
	}
	template := &x509.CertificateRequest{Subject: pkix.Name{CommonName: "system:node:" + node, Organization: []string{"system:nodes"}}, DNSNames: names}
	der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		c.t.Fatal(err)
	}
	c.api.Put(requestsPath+name, map[string]any{"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
		"metadata": map[string]any{"name": name, "uid": "uid-" + name, "creationTimestamp": time.Now().UTC().Format(time.RFC3339)},
		"spec": map[string]any{"request": base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})),
			"signerName": decide.SignerServing, "usages": []any{"digital signature", "server auth"}, "username": "system:node:" + node, "groups": []any{"system:nodes", "system:authenticated"}}})
}

// serveKubelet has the host of n2 serve a certificate of its kubelet, which the authority of the keeper's configuration
// has signed.
func (c *cluster) serveKubelet() {
	c.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		c.t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: "system:node:n2"}, DNSNames: []string{"n2"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		c.t.Fatal(err)
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.(*tls.Conn).HandshakeContext(context.Background())
			_ = conn.Close()
		}
	}()
	c.file("ca.crt", string(slices.Concat(c.read("ca.crt"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))))
	before := c.options.Dial
	c.options.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if strings.HasPrefix(address, "10.0.0.2:") {
			return (&net.Dialer{}).DialContext(ctx, network, listener.Addr().String())
		}
		return before(ctx, network, address)
	}
}

// read returns the content of a file of [cluster.file].
func (c *cluster) read(name string) []byte {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, name))
	if err != nil {
		c.t.Fatal(err)
	}
	return text
}

// approved reports whether a request is approved.
func (c *cluster) approved(name string) bool {
	return slices.Contains(c.api.Writes(), "APPROVE "+requestsPath+name)
}

// TestApprovesRequests: the leader approves the request of a node for the names that its kubelet serves now, says so, and
// names the request that it does not approve.
func TestApprovesRequests(t *testing.T) {
	c := newCluster(t, "")
	c.serveKubelet()
	c.putRequest("good", "n2", "n2")
	c.putRequest("bad", "n3", "n3") // its host does not answer
	c.putRequest("master", "m1", "m1")
	c.passUntilLeader()
	if !c.approved("good") || c.approved("bad") || c.approved("master") {
		t.Fatalf("writes %q", c.api.Writes())
	}
	at := slices.IndexFunc(c.done, func(e actionlog.Entry) bool { return e.Action == string(decide.Approve) })
	if at < 0 || c.done[at].Object != "CertificateSigningRequest good" || c.done[at].Result != actionlog.ResultDone {
		t.Errorf("actions %+v", c.done)
	}
	for _, object := range []string{"good", "n2"} {
		if !slices.ContainsFunc(c.api.Paths(), func(path string) bool {
			return strings.HasPrefix(path, "/api/v1/namespaces/default/events/"+object+".")
		}) {
			t.Errorf("no event on %s among %q", object, c.api.Paths())
		}
	}
	var refused []string
	for _, p := range c.reported().Problems {
		if p.Reason == decide.CertificateRequestRefused {
			refused = append(refused, p.Message)
		}
	}
	if len(refused) != 2 || !strings.Contains(strings.Join(refused, "\n"), `request "bad" of "system:node:n3" for a certificate is not approved: the certificate that the kubelet serves is not known`) {
		t.Errorf("problems %q, want two", refused)
	}
	writes := len(c.api.Writes())
	c.pass1()
	if again := slices.DeleteFunc(c.api.Writes()[writes:], func(w string) bool { return !strings.HasPrefix(w, "APPROVE") }); len(again) > 0 {
		t.Errorf("a second pass: %q", again)
	}
}

// TestLeavesRequests: nothing is approved in a dry run, or when it is switched off.
func TestLeavesRequests(t *testing.T) {
	for _, settings := range []string{"dry_run: true", "certificates: {nodes: false}"} {
		c := newCluster(t, settings)
		c.serveKubelet()
		c.putRequest("good", "n2", "n2")
		c.passUntilLeader()
		if c.approved("good") {
			t.Errorf("%s: writes %q", settings, c.api.Writes())
		}
		planned := slices.ContainsFunc(c.done, func(e actionlog.Entry) bool {
			return e.Action == string(decide.Approve) && e.Result == actionlog.ResultDryRun
		})
		if planned != strings.Contains(settings, "dry_run") {
			t.Errorf("%s: actions %+v", settings, c.done)
		}
	}
}
