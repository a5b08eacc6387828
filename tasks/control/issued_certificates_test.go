package control

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/json"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"deployer/cluster"
	"deployer/tasks/control/keyring"
)

// newRequest returns a request of a client, as hosts make it, and its public key.
func newRequest(t *testing.T, commonName string) ([]byte, crypto.PublicKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	usages, err := asn1.Marshal([]asn1.ObjectIdentifier{{1, 3, 6, 1, 5, 5, 7, 3, 2}})
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: commonName}, ExtraExtensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 37}, Value: usages}},
	}, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), key.Public()
}

// TestIssuedCertificates: a host gets the certificate that an external authority has issued
// for its key, and no other one; other authorities sign in the run.
func TestIssuedCertificates(t *testing.T) {
	t.Parallel()
	now := time.Now()
	authority, _, err := keyring.Complete(nil, now, 0, nil) // its owner's
	if err != nil {
		t.Fatal(err)
	}
	proxy := cluster.Certificate{Name: "kube-proxy", Authority: cluster.AuthorityCluster, CN: "system:kube-proxy", Usages: []string{"client"}}
	peer := cluster.Certificate{Name: "etcd/peer", Authority: cluster.AuthorityEtcd, CN: "n1", Usages: []string{"server", "client"}}
	c := &cluster.Cluster{
		Nodes: map[string]cluster.Node{"n1": {Name: "n1", Certificates: []cluster.Certificate{proxy, peer}}, "n2": {Name: "n2"}},
		ExternalAuthorities: cluster.ExternalAuthorities{
			Names:        []string{cluster.AuthorityCluster},
			Certificates: keyring.ExternalIn(authority.Files(), []string{keyring.Cluster}),
			Issued:       map[string]cluster.IssuedCertificate{},
		},
	}
	csr, key := newRequest(t, "system:kube-proxy")
	stranger, _ := newRequest(t, "system:masters")
	another, _ := newRequest(t, "system:kube-proxy")
	if _, ext, err := issued(c, "n1", "kube-proxy", csr, now); !ext || err == nil || !strings.Contains(err.Error(), "no certificate kube-proxy for n1") {
		t.Errorf("nothing is issued: %v", err)
	}
	signed, err := authority.Sign(keyring.SpecOf(proxy), key, now)
	if err != nil {
		t.Fatal(err)
	}
	c.ExternalAuthorities.Issued[cluster.RequestPath("n1", proxy)] = cluster.IssuedCertificate{File: "/home/ops/site/requests/kube-proxy.crt", PEM: signed}
	for name, tt := range map[string]struct {
		host, cert string
		csr        []byte
		external   bool
		want       string
	}{
		"issued":            {"n1", "kube-proxy", csr, true, ""},
		"another key":       {"n1", "kube-proxy", another, true, "kube-proxy.crt: its public key is not that of the request"},
		"another name":      {"n1", "kube-proxy", stranger, true, `its common name is "system:masters"`},
		"another authority": {"n1", "etcd/peer", csr, false, ""},
		"another host":      {"n2", "kube-proxy", csr, false, ""},
	} {
		got, ext, err := issued(c, tt.host, tt.cert, tt.csr, now)
		if ext != tt.external || (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) || tt.want == "" && ext && string(got) != string(signed) {
			t.Errorf("%s: %t, %v", name, ext, err)
		}
		if err != nil && strings.Contains(err.Error(), "/home/ops") {
			t.Errorf("%s: the host learns a path of the controller: %v", name, err)
		}
	}

	ring := &keyring.Keyring{}
	files, _, err := keyring.Complete(keyring.Files{}, now, time.Hour, c.ExternalAuthorities.Certificates)
	if err != nil {
		t.Fatal(err)
	}
	if err := ring.Fill(files); err != nil {
		t.Fatal(err)
	}
	in, err := json.Marshal(signRequest{Name: "kube-proxy", CSR: string(csr)})
	if err != nil {
		t.Fatal(err)
	}
	out, err := Calls(ring, c)["certificate.sign"](t.Context(), "n1", in)
	if reply, ok := out.(signReply); err != nil || !ok || reply.Cert != string(signed) {
		t.Errorf("the call of a host: %+v, %v", out, err)
	}
}
