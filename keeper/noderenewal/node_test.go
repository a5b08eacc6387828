package noderenewal

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"deployer/certnames"
	"deployer/cluster"
	"deployer/engine"
	"deployer/keeper/apiaccess"
	"deployer/keeper/certificates"
	"deployer/tasks/certificate"
	"deployer/tasks/control/keyring"
	"deployer/tasks/control/kube/kubetest"
)

const (
	day     = 24 * time.Hour
	ownNode = "/api/v1/nodes/n1"
	serving = "/var/lib/kubelet/pki/kubelet-serving.crt"
	proxy   = "/etc/kubernetes/pki/kube-proxy/kube-proxy.crt"
)

// testNode is node n1 with its files, its kubelet, its kube-proxy and a fake API.
type testNode struct {
	*Renewal
	t     *testing.T
	api   *kubetest.API
	keys  *keyring.Keys
	proxy *fakeProxy

	mu sync.Mutex
	// decide is the controllers of the cluster: it sets the status of a request.
	decide func(csr *x509.CertificateRequest, status map[string]any)
	user   string // who made a request, as the API says
	said   strings.Builder
}

// newNode returns a node whose certificates live for a time. Its cluster approves and signs every request.
func newNode(t *testing.T, life time.Duration) *testNode {
	t.Helper()
	n := &testNode{t: t, api: &kubetest.API{}, proxy: &fakeProxy{}, user: "system:node:n1"}
	root := t.TempDir()
	keys, _, err := keyring.Complete(keyring.Files{}, time.Now().Add(-time.Hour), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	n.keys = keys
	n.decide = func(csr *x509.CertificateRequest, status map[string]any) {
		n.signed(csr, csr.PublicKey, 365*day, status)
	}
	n.api.Written = n.control
	server := n.api.Start(t.Cleanup)
	n.api.Put(ownNode, map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": "n1"}})

	config := Config{Node: "n1", Address: "127.0.0.1", RenewBefore: 30 * day, Certificates: []certificate.Want{
		{Name: "kubelet-serving", CN: "system:node:n1", Orgs: []string{"system:nodes"}, DNS: []string{"n1", "localhost"}, IPs: []string{"127.0.0.1", "::1"}, Usages: []string{"server"}, CertPath: serving},
		{Name: "kube-proxy", CN: "system:kube-proxy", Usages: []string{"client"}, CertPath: proxy},
	}}
	for i := range config.Certificates {
		w := &config.Certificates[i]
		w.Authority, w.CAPath, w.KeyPath = cluster.AuthorityCluster, keyring.ClusterCert, strings.TrimSuffix(w.CertPath, ".crt")+".key"
	}
	config.API = apiaccess.Node{Server: server.URL, CA: filepath.Join(root, "server.crt"), Cert: root + "/kubelet.crt", Key: root + "/kubelet.key"}
	n.Renewal = &Renewal{Config: config, Options: Options{Root: root}}
	n.write("/server.crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	n.write(keyring.ClusterCert, keys.Files()[keyring.ClusterCert])
	n.issue(certificate.Want{CN: "system:node:n1", Usages: []string{"client"}, CertPath: "/kubelet.crt", KeyPath: "/kubelet.key"}, day)
	for _, w := range config.Certificates {
		n.issue(w, life)
	}
	if n.Renewal, err = New(config, Options{Root: root, StateDir: t.TempDir(), Say: func(text string) { n.said.WriteString(text + "\n") }}); err != nil {
		t.Fatal(err)
	}
	n.wait, n.served = 2*time.Second, 2*time.Second
	n.proxy.path = root + proxy
	n.proxy.read = n.read(proxy)
	n.processes = func([]certificate.Want) []certificates.Process {
		return []certificates.Process{{Name: "kube-proxy", Restart: n.proxy, Ready: readiness{n.proxy}}}
	}
	n.serve()
	return n
}

// control is the API server and the controllers of the cluster for requests.
func (n *testNode) control(path string, object map[string]any) {
	if !strings.HasPrefix(path, requestsPath+"/") {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	spec := object["spec"].(map[string]any)
	if spec["username"] == nil {
		spec["username"] = n.user
	}
	text, err := base64.StdEncoding.DecodeString(spec["request"].(string))
	if err != nil {
		n.t.Error(err)
		return
	}
	block, _ := pem.Decode(text)
	csr, err := x509.ParseCertificateRequest(block.Bytes)
	if err == nil {
		err = csr.CheckSignature()
	}
	if err != nil {
		n.t.Error(err)
		return
	}
	status, _ := object["status"].(map[string]any)
	if status == nil {
		status = map[string]any{}
		object["status"] = status
	}
	n.decide(csr, status)
}

// decideBy replaces the controllers of the cluster, and has them look at the requests that there are.
func (n *testNode) decideBy(decide func(*x509.CertificateRequest, map[string]any)) {
	n.mu.Lock()
	n.decide = decide
	n.mu.Unlock()
	for _, path := range n.requests() {
		n.api.Put(path, n.api.Object(path))
	}
}

// signed sets the status of a request that is approved and signed for a key.
func (n *testNode) signed(csr *x509.CertificateRequest, key crypto.PublicKey, life time.Duration, status map[string]any) {
	usages := []string{"client"}
	if len(csr.DNSNames) > 0 {
		usages = []string{"server"}
	}
	spec := keyring.SpecOf(cluster.Certificate{Authority: cluster.AuthorityCluster, CN: csr.Subject.CommonName, Orgs: csr.Subject.Organization,
		DNS: csr.DNSNames, IPs: certnames.Addresses(csr.IPAddresses), Usages: usages})
	spec.Validity = life
	text, err := n.keys.Sign(spec, key, time.Now())
	if err != nil {
		n.t.Error(err)
	}
	approved(status)
	status["certificate"] = base64.StdEncoding.EncodeToString(text)
}

func approved(status map[string]any) { conditions(status, "Approved") }

func conditions(status map[string]any, kinds ...string) {
	var list []any
	for _, kind := range kinds {
		list = append(list, map[string]any{"type": kind, "status": "True", "reason": "Reason", "message": "its message"})
	}
	status["conditions"] = list
}

func pending(*x509.CertificateRequest, map[string]any) {}

// requests returns the paths of the requests that the API has.
func (n *testNode) requests() (out []string) {
	for _, path := range n.api.Paths() {
		if strings.HasPrefix(path, requestsPath+"/") {
			out = append(out, path)
		}
	}
	return out
}

func (n *testNode) write(path string, text []byte) {
	n.t.Helper()
	path = n.Root + path
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		n.t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		n.t.Fatal(err)
	}
}

func (n *testNode) read(path string) string {
	n.t.Helper()
	text, err := os.ReadFile(n.Root + path)
	if err != nil {
		n.t.Fatal(err)
	}
	return string(text)
}

// issue writes a certificate that lives for a time, with its key.
func (n *testNode) issue(w certificate.Want, life time.Duration) {
	n.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		n.t.Fatal(err)
	}
	spec := keyring.SpecOf(cluster.Certificate{Authority: cluster.AuthorityCluster, CN: w.CN, Orgs: w.Orgs, DNS: w.DNS, IPs: w.IPs, Usages: w.Usages})
	spec.Validity = life + time.Hour // Complete began an hour ago
	text, err := n.keys.Sign(spec, key.Public(), time.Now().Add(-time.Hour))
	if err != nil {
		n.t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		n.t.Fatal(err)
	}
	n.write(w.KeyPath, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
	n.write(w.CertPath, text)
	if err := os.Chmod(n.Root+w.CertPath, 0o644); err != nil {
		n.t.Fatal(err)
	}
}

// serve is the kubelet: it serves what its file has.
func (n *testNode) serve() {
	n.t.Helper()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(n.Root+serving, n.Root+strings.TrimSuffix(serving, ".crt")+".key")
		return &pair, err
	}})
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { _ = listener.Close() })
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
	n.kubelet = listener.Addr().String()
}

// left returns the remaining lifetime of a certificate.
func (n *testNode) left(path string) time.Duration {
	n.t.Helper()
	block, _ := pem.Decode([]byte(n.read(path)))
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		n.t.Fatal(err)
	}
	return time.Until(cert.NotAfter)
}

// fakeProxy is a kube-proxy that reads its certificate when it starts.
type fakeProxy struct {
	path, read string
	starts     int
	// broken refuses to become ready with a certificate other than this one; empty: never.
	broken string
}

// Check implements engine.Module.
func (p *fakeProxy) Check(context.Context, engine.System) (engine.Change, error) {
	text, err := os.ReadFile(p.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return engine.NoChange(nil), nil
	case err != nil || string(text) == p.read:
		return engine.NoChange(nil), err
	}
	return engine.Changed(engine.Effect{Kind: engine.EffectRestart, Target: "kube-proxy", Action: "restart"}), nil
}

// Apply implements engine.Module.
func (p *fakeProxy) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	text, err := os.ReadFile(p.path)
	p.read = string(text)
	p.starts++
	return nil, err
}

// readiness is the proof that the proxy works.
type readiness struct{ *fakeProxy }

// Check implements engine.Module.
func (r readiness) Check(context.Context, engine.System) (engine.Change, error) {
	if r.broken != "" && r.read != r.broken {
		return engine.Change{}, errors.New("it writes no rules")
	}
	return engine.NoChange(nil), nil
}
