package renewal

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"deployer/cluster"
	"deployer/keeper/config"
	"deployer/tasks/certificate"
	"deployer/tasks/control/keyring"
	"deployer/tasks/control/kube"
)

const day = 24 * time.Hour

// master is a directory with the files of a master, and a server with its certificate.
type master struct {
	Renewal
	keys *keyring.Keys
}

// newMaster returns a master with the certificates admin and apiserver, which live for a time. Its server
// serves the file of apiserver, or what was in it at first when it is stuck.
func newMaster(t *testing.T, life time.Duration, stuck bool) *master {
	t.Helper()
	root := t.TempDir()
	keys, _, err := keyring.Complete(keyring.Files{}, time.Now().Add(-time.Hour), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := &master{keys: keys}
	m.Host, m.Root, m.served, m.Progress = "m1", root, 2*time.Second, func(string) {}
	m.Own = config.Own{Addresses: []string{"127.0.0.1"}, RenewBefore: 30 * day, LeafLifetime: 365 * day, Authorities: []string{keyring.ClusterCert}}
	for path, text := range keys.Files() {
		m.write(t, path, text, 0o600)
	}
	for _, w := range []certificate.Want{
		{Name: "admin", CN: "kubernetes-admin", Orgs: []string{"admins"}, Usages: []string{"client"}},
		{Name: "apiserver", CN: "kube-apiserver", IPs: []string{"127.0.0.1"}, Usages: []string{"server"}},
	} {
		w.Authority, w.CAPath = cluster.AuthorityCluster, keyring.ClusterCert
		w.CertPath, w.KeyPath = "/etc/kubernetes/pki/"+w.Name+".crt", "/etc/kubernetes/pki/"+w.Name+".key"
		m.Own.Certificates = append(m.Own.Certificates, w)
		m.issue(t, w.Name, life)
	}
	m.serve(t, stuck)
	if m.Kube, err = kube.New(kube.Options{URL: "https://127.0.0.1:1", TLS: &tls.Config{MinVersion: tls.VersionTLS12}}); err != nil {
		t.Fatal(err)
	}
	m.Dial = (&net.Dialer{}).DialContext
	return m
}

func (m *master) write(t *testing.T, path string, text []byte, mode os.FileMode) {
	t.Helper()
	path = m.Root + path
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, mode); err != nil {
		t.Fatal(err)
	}
}

func (m *master) read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(m.Root + path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// issue writes a certificate that lives for a time, with its key.
func (m *master) issue(t *testing.T, name string, life time.Duration) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	spec, _ := m.wanted("m1", name)
	spec.Validity = life + time.Hour // Complete began an hour ago
	text, err := m.keys.Sign(spec, key.Public(), time.Now().Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	m.write(t, "/etc/kubernetes/pki/"+name+".key", pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600)
	m.write(t, "/etc/kubernetes/pki/"+name+".crt", text, 0o644)
}

func (m *master) serve(t *testing.T, stuck bool) {
	t.Helper()
	load := func() (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(m.Root+"/etc/kubernetes/pki/apiserver.crt", m.Root+"/etc/kubernetes/pki/apiserver.key")
		return &pair, err
	}
	first, err := load()
	if err != nil {
		t.Fatal(err)
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		if stuck {
			return first, nil
		}
		return load()
	}})
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
	m.API = listener.Addr().String()
}

// states returns the states of certificates and authorities by path.
func (m *master) states(t *testing.T) map[string]string {
	t.Helper()
	found, err := m.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, c := range found {
		out[strings.TrimSuffix(filepath.Base(c.Path), ".crt")] = c.State
	}
	return out
}

func TestRun(t *testing.T) {
	t.Parallel()
	m := newMaster(t, 20*day, false)
	if got := m.states(t); got["admin"] != cluster.CertificateExpiring || got["apiserver"] != cluster.CertificateExpiring || got["ca"] != cluster.CertificateOK {
		t.Fatalf("states %v", got)
	}
	key, admin := m.read(t, "/etc/kubernetes/pki/apiserver.key"), m.read(t, "/etc/kubernetes/pki/admin.crt")
	if err := m.Run(t.Context(), []string{"apiserver"}); err != nil {
		t.Fatal(err)
	}
	if got := m.states(t); got["apiserver"] != cluster.CertificateOK || got["admin"] != cluster.CertificateExpiring {
		t.Errorf("states %v, want a new one for the API server only", got)
	}
	if m.read(t, "/etc/kubernetes/pki/apiserver.key") != key || m.read(t, "/etc/kubernetes/pki/admin.crt") != admin {
		t.Error("the key of the API server or the certificate of admin has changed")
	}
	found, err := m.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if left := time.Until(found[1].Expires); left < 364*day || left > 366*day {
		t.Errorf("the new certificate lives for %s, want a year", left)
	}
}

// TestRunPutsBack: a server that does not take the new certificate gets the former one back.
func TestRunPutsBack(t *testing.T) {
	t.Parallel()
	m := newMaster(t, 20*day, true)
	before := m.read(t, "/etc/kubernetes/pki/apiserver.crt")
	err := m.Run(t.Context(), []string{"apiserver", "admin"})
	if err == nil || !strings.Contains(err.Error(), "serves the certificate /etc/kubernetes/pki/apiserver.crt: timeout") || !strings.Contains(err.Error(), "the former certificates are back") {
		t.Errorf("%v", err)
	}
	if m.read(t, "/etc/kubernetes/pki/apiserver.crt") != before || m.states(t)["admin"] != cluster.CertificateExpiring {
		t.Error("the former certificates are not back")
	}
	if info, err := os.Stat(m.Root + "/etc/kubernetes/pki/apiserver.crt"); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("%v, %v", info, err)
	}
}

// TestRunKeepsNewOfExpired: a former certificate that has expired is worth nothing.
func TestRunKeepsNewOfExpired(t *testing.T) {
	t.Parallel()
	m := newMaster(t, -time.Minute, true)
	err := m.Run(t.Context(), []string{"apiserver"})
	if err == nil || !strings.Contains(err.Error(), "the new certificates stay") {
		t.Errorf("%v", err)
	}
	if got := m.states(t)["apiserver"]; got != cluster.CertificateOK {
		t.Errorf("the certificate is %s", got)
	}
}

// TestRunRemakesMissing: a certificate that is gone, with its key, is made again, and is gone again when
// a proof fails.
func TestRunRemakesMissing(t *testing.T) {
	t.Parallel()
	for _, stuck := range []bool{false, true} {
		m := newMaster(t, 200*day, stuck)
		if err := os.Remove(m.Root + "/etc/kubernetes/pki/admin.crt"); err != nil {
			t.Fatal(err)
		}
		if stuck {
			m.issue(t, "apiserver", 200*day) // nobody has read it
		}
		err := m.Run(t.Context(), []string{"admin"})
		if (err != nil) != stuck {
			t.Fatal(err)
		}
		want := cluster.CertificateOK
		if stuck {
			want = cluster.CertificateMissing
		}
		if got := m.states(t)["admin"]; got != want {
			t.Errorf("admin is %s, want %s", got, want)
		}
	}
}

// TestSignsOnlyItsOwn: nothing but the certificates of this host is signed, and nothing at all without
// the authority of the cluster.
func TestSignsOnlyItsOwn(t *testing.T) {
	t.Parallel()
	m := newMaster(t, 20*day, false)
	if err := m.system().Call(t.Context(), "certificate.sign", map[string]string{"name": "other"}, nil); err == nil || !strings.Contains(err.Error(), `not to have a certificate "other"`) {
		t.Errorf("%v", err)
	}
	if err := os.Remove(m.Root + keyring.ClusterCert); err != nil {
		t.Fatal(err)
	}
	if err := m.system().Call(t.Context(), "certificate.sign", map[string]string{"name": "apiserver"}, nil); err == nil || !strings.Contains(err.Error(), keyring.ClusterCert+" does not exist") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(m.Root + keyring.ClusterCert); err == nil {
		t.Error("an authority was made")
	}
}
