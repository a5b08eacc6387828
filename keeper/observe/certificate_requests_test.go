package observe

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/keeper/decide"
	"deployer/keeper/world"
	"deployer/tasks/control/kube"
	"deployer/tasks/control/kube/kubetest"
)

// csr returns a signing request in PEM form.
func csr(t *testing.T, template x509.CertificateRequest) []byte {
	t.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, &template, newKey(t))
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// putRequest stores a CertificateSigningRequest of node n1.
func putRequest(api *kubetest.API, name, signer string, request []byte, status map[string]any) {
	putRequestOf(api, name, "n1", signer, request, status)
}

// putRequestOf stores a CertificateSigningRequest of a node.
func putRequestOf(api *kubetest.API, name, node, signer string, request []byte, status map[string]any) {
	api.Put("/apis/certificates.k8s.io/v1/certificatesigningrequests/"+name, map[string]any{
		"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
		"metadata": map[string]any{"name": name, "uid": "uid-" + name, "creationTimestamp": "2026-11-28T03:00:00Z"},
		"spec": map[string]any{"request": base64.StdEncoding.EncodeToString(request), "signerName": signer, "usages": []any{"digital signature", "server auth"},
			"username": "system:node:" + node, "groups": []any{"system:nodes"}},
		"status": status,
	})
}

func TestCertificateRequests(t *testing.T) {
	api := &kubetest.API{}
	server := api.Start(t.Cleanup)
	client, err := kube.New(kube.Options{URL: server.URL, TLS: server.Client().Transport.(*http.Transport).TLSClientConfig})
	if err != nil {
		t.Fatal(err)
	}
	kubelet := x509.CertificateRequest{Subject: pkix.Name{CommonName: "system:node:n1", Organization: []string{"system:nodes"}}, DNSNames: []string{"n1"}, IPAddresses: []net.IP{net.ParseIP("10.0.0.1"), net.ParseIP("::1")}}
	with := func(change func(r *x509.CertificateRequest)) []byte {
		r := kubelet
		change(&r)
		return csr(t, r)
	}
	conditions := func(kind string) map[string]any {
		return map[string]any{"conditions": []any{map[string]any{"type": kind, "status": "True"}}}
	}
	good := with(func(*x509.CertificateRequest) {})
	faults := map[string]string{"good": ""}
	putRequest(api, "good", decide.SignerServing, good, nil)
	for i, c := range []struct {
		request []byte
		fault   string
	}{
		{with(func(r *x509.CertificateRequest) { r.EmailAddresses = []string{"ann@example.com"} }), "it asks for e-mail addresses"},
		{with(func(r *x509.CertificateRequest) { r.URIs = []*url.URL{{Scheme: "spiffe", Host: "a"}} }), "it asks for URIs"},
		{with(func(r *x509.CertificateRequest) { r.Subject.OrganizationalUnit = []string{"more"} }), "its subject has more than one common name and organizations"},
		{with(func(r *x509.CertificateRequest) {
			r.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 19}, Value: []byte{0x30, 3, 1, 1, 0xff}}}
		}), "it asks for extension 2.5.29.19"},
		{with(func(r *x509.CertificateRequest) { // DNS name n1, and a registered ID
			r.DNSNames, r.IPAddresses = nil, nil
			r.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 17}, Value: []byte{0x30, 8, 0x82, 2, 'n', '1', 0x88, 2, 0x2a, 3}}}
		}), "it asks for names that are neither DNS names nor addresses"},
		{[]byte("nonsense"), "it is not one signing request in PEM form"},
		{slices.Concat(good, good), "it is not one signing request in PEM form"},
		{pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: []byte("nonsense")}), "its signing request is not valid"},
	} {
		name := fmt.Sprint("bad-", i)
		faults[name] = c.fault
		putRequest(api, name, decide.SignerClient, c.request, nil)
	}
	putRequest(api, "approved", decide.SignerServing, good, conditions("Approved"))
	putRequest(api, "denied", decide.SignerServing, good, conditions("Denied"))
	putRequest(api, "kubelets-own", "kubernetes.io/kube-apiserver-client-kubelet", good, nil)

	// A flood of one node leaves room for others, and none of these is decoded that is too large.
	for i := range 2 * maxOfNode {
		putRequestOf(api, fmt.Sprint("a-flood-", i), "n9", decide.SignerServing, good, nil)
	}
	putRequest(api, "large", decide.SignerServing, append(slices.Clone(good), make([]byte, maxRequest)...), nil)
	faults["large"] = fmt.Sprintf("it has %d bytes", len(good)+maxRequest)
	putRequest(api, "two\nlines", decide.SignerServing, good, nil)
	faults["two\nlines"] = "its name is not one of an object (RFC 1123)"

	list, err := CertificateRequests(t.Context(), client, func(r world.CertificateRequest) bool {
		return r.Signer != "kubernetes.io/kube-apiserver-client-kubelet"
	})
	if err != nil {
		t.Fatal(err)
	}
	got, flood := map[string]string{}, 0
	list = slices.DeleteFunc(list, func(r world.CertificateRequest) bool {
		if r.User == "system:node:n9" {
			flood++
			return true
		}
		got[r.Name] = r.Fault
		return false
	})
	if flood != maxOfNode {
		t.Errorf("%d requests of a node that made %d, want %d", flood, 2*maxOfNode, maxOfNode)
	}
	if diff := cmp.Diff(faults, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	want := world.CertificateRequest{Name: "good", UID: "uid-good", Signer: decide.SignerServing, User: "system:node:n1", Groups: []string{"system:nodes"}, Usages: []string{"digital signature", "server auth"},
		Created: time.Date(2026, 11, 28, 3, 0, 0, 0, time.UTC), CN: "system:node:n1", Orgs: []string{"system:nodes"}, DNS: []string{"n1"}, IPs: []string{"10.0.0.1", "::1"}}
	at := slices.IndexFunc(list, func(r world.CertificateRequest) bool { return r.Name == "good" })
	if diff := cmp.Diff(want, list[at]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// authority signs certificates of kubelets.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, IsCA: true, BasicConstraintsValid: true, NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return authority{cert, key}
}

// kubelet listens with a certificate of a name.
func (a authority) kubelet(t *testing.T, name string, until time.Duration, usage x509.ExtKeyUsage) string {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "system:node:" + name}, DNSNames: []string{name, "localhost"}, IPAddresses: []net.IP{net.IPv4(10, 0, 0, 1)},
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(until), ExtKeyUsage: []x509.ExtKeyUsage{usage}}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{MinVersion: tls.VersionTLS12, ClientAuth: tls.RequestClientCert, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
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
	return listener.Addr().String()
}

// TestReadServing: only a certificate that the cluster has signed for this node and that is valid proves names.
func TestReadServing(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	roots := x509.NewCertPool()
	roots.AddCert(ca.cert)
	for name, c := range map[string]struct {
		address string // empty: nobody listens
		fault   string
	}{
		"good":              {ca.kubelet(t, "n1", time.Hour, x509.ExtKeyUsageServerAuth), ""},
		"expired":           {ca.kubelet(t, "n1", -time.Hour, x509.ExtKeyUsageServerAuth), "has expired"},
		"another authority": {other.kubelet(t, "n1", time.Hour, x509.ExtKeyUsageServerAuth), "is not known: "},
		"another node":      {ca.kubelet(t, "n2", time.Hour, x509.ExtKeyUsageServerAuth), "is not known: "},
		"a client":          {ca.kubelet(t, "n1", time.Hour, x509.ExtKeyUsageClientAuth), "is not known: "},
		"silence":           {"", "is not known: connecting to 10.0.0.1:10250"},
	} {
		dials := 0
		dial := func(ctx context.Context, network, address string) (net.Conn, error) {
			dials++
			if address != "10.0.0.1:10250" || c.address == "" {
				return nil, net.ErrClosed
			}
			return (&net.Dialer{}).DialContext(ctx, network, c.address)
		}
		requests := []world.CertificateRequest{
			{Signer: decide.SignerServing, User: "system:node:n1", Name: "newest"}, {Signer: decide.SignerServing, User: "system:node:n1"}, {Signer: decide.SignerClient, User: "system:node:n1"},
			{Signer: decide.SignerServing, User: "system:node:m1"}, {Signer: decide.SignerServing, User: "system:node:gone"},
		}
		ReadServing(t.Context(), dial, roots, []world.Node{{Name: "m1", Address: "10.0.0.9", Master: true}, {Name: "n1", Address: "10.0.0.1"}}, requests)
		got := requests[0].Serving
		if got == nil || !strings.Contains(got.Fault, c.fault) || (got.Fault == "") != (c.fault == "") {
			t.Errorf("%s: %+v, want %q", name, got, c.fault)
			continue
		}
		want := &world.Serving{CN: "system:node:n1", DNS: []string{"n1", "localhost"}, IPs: []string{"10.0.0.1"}}
		if diff := cmp.Diff(want, got); c.fault == "" && diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
		if dials != 1 || requests[1].Serving != got {
			t.Errorf("%s: %d connections for two requests of a node, want 1", name, dials)
		}
		for _, r := range requests[2:] {
			if r.Serving != nil {
				t.Errorf("%s: %+v was read", name, r)
			}
		}
	}
}

func TestOthersOf(t *testing.T) {
	if got := othersOf(`{"names":["calico-node-etcd","etcd-calico/server"],"expires":"2027-01-01T00:00:00Z"}`); got == nil || len(got.Names) != 2 || got.Expires.Year() != 2027 {
		t.Errorf("%+v", got)
	}
	for _, text := range []string{"", "{}", "[]", `{"names":["a\u001b[2J"]}`, `{"names":["` + strings.Repeat("a", 61) + `"]}`, `{"names":["a"],"expires":"soon"}`} {
		if got := othersOf(text); got != nil {
			t.Errorf("%s: %+v, want none", text, got)
		}
	}
}
