package keyring

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func newKeys(t *testing.T) *Keys {
	t.Helper()
	keys, _, err := Complete(nil, time.Now(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// request returns a certificate request with the contents of claim.
func request(t *testing.T, claim x509.CertificateRequest) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &claim, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: requestType, Bytes: der})
}

func TestSignedCertificateVerifiesAgainstItsCAOnly(t *testing.T) {
	keys := newKeys(t)
	random := mathrand.New(mathrand.NewPCG(1, 2))
	names := []string{Cluster, Etcd, FrontProxy}
	for i := range 100 {
		spec := Certificate{
			Name:          fmt.Sprintf("leaf-%d", i),
			Authority:     names[random.IntN(3)],
			CommonName:    fmt.Sprintf("system:node:h%d", random.IntN(50)),
			Organizations: []string{"system:nodes"}[:random.IntN(2)],
			DNSNames:      []string{fmt.Sprintf("h%d.example.org", i)},
			IPs:           []net.IP{net.IPv4(10, 0, byte(random.IntN(256)), byte(i)), net.ParseIP("::1")},
			Server:        true,
			Client:        random.IntN(2) == 0,
			Validity:      time.Duration(random.IntN(20*365*24)+1) * time.Hour,
		}
		table := func(_, name string) (Certificate, bool) { return spec, name == spec.Name }
		got, err := keys.SignRequest(table, "h", spec.Name, request(t, x509.CertificateRequest{}), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		cert, err := decodeCert(got)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			authority, _ := keys.Authority(name)
			_, err := cert.Verify(x509.VerifyOptions{
				Roots: authority.Pool(), DNSName: spec.DNSNames[0], KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
			})
			if (err == nil) != (name == spec.Authority) {
				t.Fatalf("%+v verifies against %s: %v", spec, name, err)
			}
			if name == spec.Authority && cert.NotAfter.After(authority.Cert.NotAfter) {
				t.Fatalf("the certificate expires after its CA: %s", cert.NotAfter)
			}
		}
		if cert.Subject.CommonName != spec.CommonName || cert.IsCA || len(cert.IPAddresses) != 2 {
			t.Fatalf("subject %s, CA %v, addresses %v", cert.Subject, cert.IsCA, cert.IPAddresses)
		}
		if usable := cert.VerifyHostname("127.0.0.1") == nil; usable {
			t.Fatal("valid for an address that the table does not give")
		}
	}
}

func TestSignRequestIgnoresTheContentsOfTheRequest(t *testing.T) {
	keys := newKeys(t)
	table := func(host, name string) (Certificate, bool) {
		return Certificate{Name: name, Authority: Cluster, CommonName: "system:node:" + host, Organizations: []string{"system:nodes"}, Client: true},
			name == "kubelet-client"
	}
	evil := request(t, x509.CertificateRequest{
		Subject:     pkix.Name{CommonName: "kubernetes-admin", Organization: []string{"system:masters"}},
		DNSNames:    []string{"kubernetes.default"},
		IPAddresses: []net.IP{net.IPv4(10, 96, 0, 1)},
	})
	got, err := keys.SignRequest(table, "n1", "kubelet-client", evil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	cert, _ := decodeCert(got)
	if cert.Subject.String() != "CN=system:node:n1,O=system:nodes" || len(cert.DNSNames)+len(cert.IPAddresses) != 0 {
		t.Errorf("contents of the request are in the certificate: %s %v %v", cert.Subject, cert.DNSNames, cert.IPAddresses)
	}
	_, err = keys.SignRequest(table, "n1", "apiserver", evil, time.Now())
	if err == nil || !strings.Contains(err.Error(), `host n1 is not to have a certificate "apiserver"`) {
		t.Errorf("a certificate that the host is not to have: %v", err)
	}
}

func TestSignRequestErrors(t *testing.T) {
	keys := newKeys(t)
	table := func(_, name string) (Certificate, bool) {
		return Certificate{Name: name, Authority: Cluster, CommonName: "x", Client: true}, true
	}
	good := request(t, x509.CertificateRequest{Subject: pkix.Name{CommonName: "aaaaaaaa"}})
	block, _ := pem.Decode(good)
	forged := []byte(strings.Replace(string(block.Bytes), "aaaaaaaa", "bbbbbbbb", 1))
	weak, _ := ecdsa.GenerateKey(elliptic.P224(), rand.Reader)
	weakDER, _ := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, weak)
	for _, c := range []struct {
		name, want string
		pem        []byte
	}{
		{"nothing", "not a certificate request", nil},
		{"a certificate", "not a certificate request", keys.files[ClusterCert]},
		{"changed after signing", "its signature is wrong", pem.EncodeToMemory(&pem.Block{Type: requestType, Bytes: forged})},
		{"a weak key", "on the curve P-224", pem.EncodeToMemory(&pem.Block{Type: requestType, Bytes: weakDER})},
	} {
		if _, err := keys.SignRequest(table, "h", "x", c.pem, time.Now()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

func TestFilesRoundTrip(t *testing.T) {
	keys := newKeys(t)
	again, made, err := Complete(keys.Files(), time.Now(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(made) != 0 {
		t.Errorf("created %v though no file was missing", made)
	}
	if diff := cmp.Diff(keys.Files(), again.Files()); diff != "" {
		t.Error(diff)
	}
	if len(keys.Files()) != len(Paths()) {
		t.Errorf("%d files for %d paths", len(keys.Files()), len(Paths()))
	}
}

func TestShareReturnsOnlyTheFilesOfTheRoles(t *testing.T) {
	keys := newKeys(t)
	for _, c := range []struct {
		share Share
		want  []string
	}{
		{Share{}, nil},
		{Share{API: true}, []string{ClusterCert}},
		{Share{Etcd: true}, []string{EtcdCert}},
		{Share{Etcd: true, API: true}, []string{EtcdCert, ClusterCert}},
		{Share{Master: true, Etcd: true, API: true}, slices.Insert(Paths(), len(Paths())-1, ClusterSigning)},
	} {
		var got []string
		for _, f := range keys.Share(c.share) {
			got = append(got, f.Path)
			if secret := strings.Contains(f.Content, "PRIVATE KEY") || f.Path == EncryptionConf || f.Path == BGPPassword; secret != f.Secret || secret != (f.Mode == "0600") {
				t.Errorf("%s: mode %s, secret %v", f.Path, f.Mode, f.Secret)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%+v: %s", c.share, diff)
		}
	}
}

func TestKeyringIsEmptyUntilFilledAndRejectsAnotherCluster(t *testing.T) {
	var ring Keyring
	if _, err := ring.Keys(); !errors.Is(err, ErrEmpty) {
		t.Errorf("an empty keyring answers %v", err)
	}
	keys := newKeys(t)
	if err := ring.Fill(keys); err != nil {
		t.Fatal(err)
	}
	if err := ring.Fill(keys); err != nil {
		t.Errorf("filling it again with the same keys: %v", err)
	}
	if err := ring.Fill(newKeys(t)); err == nil {
		t.Error("accepted the keys of another cluster")
	}
}

func TestIdentityIsAShortLivedClientCertificate(t *testing.T) {
	keys := newKeys(t)
	now := time.Now()
	pair, err := keys.Identity(Cluster, "deployer", []string{"system:masters"}, time.Hour, now)
	if err != nil {
		t.Fatal(err)
	}
	if got := pair.Leaf.NotAfter.Sub(now).Round(time.Minute); got != time.Hour {
		t.Errorf("valid for %s", got)
	}
	authority, _ := keys.Authority(Cluster)
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: authority.Pool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		t.Error(err)
	}
}
