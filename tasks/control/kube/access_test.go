package kube

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"deployer/tasks/control/keyring"
	"deployer/tasks/control/kube/kubetest"
)

// masters are API servers that are dialled by the names of their hosts. Each has a
// certificate for 127.0.0.1 only.
type masters struct {
	mu      sync.Mutex
	servers map[string]*httptest.Server
	clients map[string][]string // subjects of client certificates, by master
	conns   map[string][]net.Conn
	dead    map[string]bool
}

func newMasters(t *testing.T, ring *keyring.Keyring, api http.Handler, names ...string) *masters {
	t.Helper()
	m := &masters{servers: map[string]*httptest.Server{}, clients: map[string][]string{}, conns: map[string][]net.Conn{}, dead: map[string]bool{}}
	keys, _ := ring.Keys()
	authority, _ := keys.Authority(keyring.Cluster)
	for _, name := range names {
		key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		certPEM, err := keys.Sign(keyring.Certificate{Name: "apiserver", Authority: keyring.Cluster, CommonName: "kube-apiserver", IPs: []net.IP{net.IPv4(127, 0, 0, 1)}, Server: true}, key.Public(), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			peer := r.TLS.PeerCertificates[0].Subject.String()
			m.mu.Lock()
			m.clients[name] = append(m.clients[name], peer)
			m.mu.Unlock()
			api.ServeHTTP(w, r)
		}))
		s.EnableHTTP2 = true
		s.TLS = &tls.Config{Certificates: []tls.Certificate{pair(t, certPEM, key)}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: authority.Pool()}
		s.StartTLS()
		t.Cleanup(s.Close)
		m.servers[name] = s
	}
	return m
}

func pair(t *testing.T, certPEM []byte, key *ecdsa.PrivateKey) tls.Certificate {
	t.Helper()
	block, _ := pem.Decode(certPEM)
	return tls.Certificate{Certificate: [][]byte{block.Bytes}, PrivateKey: key}
}

func (m *masters) dial(ctx context.Context, host, network, address string) (net.Conn, error) {
	if address != "127.0.0.1:6443" {
		return nil, errors.New("dialled " + address)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead[host] || m.servers[host] == nil {
		return nil, errors.New("connection refused")
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, m.servers[host].Listener.Addr().String())
	if err == nil {
		m.conns[host] = append(m.conns[host], conn)
	}
	return conn, err
}

// kill refuses new connections to a master and closes the present ones.
func (m *masters) kill(host string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dead[host] = true
	for _, c := range m.conns[host] {
		_ = c.Close()
	}
}

func (m *masters) seen(host string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.clients[host]...)
}

func filledRing(t *testing.T) *keyring.Keyring {
	t.Helper()
	keys, _, err := keyring.Complete(nil, time.Now(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	ring := &keyring.Keyring{}
	if err := ring.Fill(keys); err != nil {
		t.Fatal(err)
	}
	return ring
}

func TestSharedClientSwitchesToAnotherMasterWhenOneDies(t *testing.T) {
	ring := filledRing(t)
	api := &kubetest.API{}
	m := newMasters(t, ring, api, "m1", "m2", "m3")
	access := NewAccess(ring)
	access.Use(m.dial, []string{"m1", "m2", "m3"}, 6443)
	client, err := access.Any()
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"m1", "m2", "m3"} {
		if got := effects(plan(t, client, "{apiVersion: v1, kind: Namespace, metadata: {name: a}}")); len(got) != 1 {
			t.Fatalf("got %v", got)
		}
		if len(m.seen(name)) == 0 {
			t.Errorf("%s got no request after %d dead masters", name, i)
		}
		m.kill(name)
	}
	again, _ := access.Any()
	if again != client {
		t.Error("Any returned a second client")
	}
	_, err = Nodes(context.Background(), client.WithRetryTimeout(-1), nil)
	for _, want := range []string{"no API server can be reached on any master", "m1: connection refused", "m3: connection refused"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no master alive: error %v lacks %q", err, want)
		}
	}
	if got := m.seen("m1")[0]; got != "CN=deployer,O=system:masters" {
		t.Errorf("subject of the client certificate: %s", got)
	}
}

func TestPinnedClientUsesItsMasterOnly(t *testing.T) {
	ring := filledRing(t)
	m := newMasters(t, ring, &kubetest.API{}, "m1", "m2")
	access := NewAccess(ring)
	access.Use(m.dial, []string{"m1", "m2"}, 6443)
	client, err := access.On("m2")
	if err != nil {
		t.Fatal(err)
	}
	if err := WaitAPI(context.Background(), client, time.Second, silent); err != nil {
		t.Fatal(err)
	}
	if len(m.seen("m1")) != 0 || len(m.seen("m2")) != 1 {
		t.Errorf("m1 saw %v, m2 %v", m.seen("m1"), m.seen("m2"))
	}
	m.kill("m2")
	err = WaitAPI(context.Background(), client, 800*time.Millisecond, silent)
	if err == nil || !strings.Contains(err.Error(), "not ready: timeout after 800ms") || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("got %v", err)
	}
}

func TestFindReadySwitchesFromAMasterThatIsNotReady(t *testing.T) {
	ring := filledRing(t)
	api := &kubetest.API{}
	sick := true
	api.Before = func(w http.ResponseWriter, _ *http.Request) bool {
		if sick {
			sick = false
			w.WriteHeader(http.StatusInternalServerError)
			return true
		}
		return false
	}
	m := newMasters(t, ring, api, "m1", "m2")
	access := NewAccess(ring)
	access.Use(m.dial, []string{"m1", "m2"}, 6443)
	client, err := access.Any()
	if err != nil {
		t.Fatal(err)
	}
	if saw, ok := client.FindReady(context.Background()); !ok {
		t.Fatal(saw)
	}
	if len(m.seen("m1")) != 1 || len(m.seen("m2")) != 1 {
		t.Errorf("m1 got %d requests, m2 %d", len(m.seen("m1")), len(m.seen("m2")))
	}
}

func TestClientCertificateIsReplacedBeforeItExpires(t *testing.T) {
	access := NewAccess(filledRing(t))
	now := time.Now()
	first, err := access.certificate(now)
	if err != nil {
		t.Fatal(err)
	}
	if same, _ := access.certificate(now.Add(40 * time.Minute)); same != first {
		t.Error("renewed too early")
	}
	later := now.Add(50 * time.Minute)
	second, err := access.certificate(later)
	if err != nil || second == first || second.Leaf.NotAfter.Before(later.Add(59*time.Minute)) {
		t.Errorf("not renewed: %v", err)
	}
}

func TestAccessFailsWithoutKeysOrMasters(t *testing.T) {
	access := NewAccess(&keyring.Keyring{})
	if _, err := access.Any(); err == nil || !strings.Contains(err.Error(), "no master") {
		t.Errorf("no masters: %v", err)
	}
	access.Use(nil, []string{"m1"}, 6443)
	if _, err := access.Any(); !errors.Is(err, keyring.ErrEmpty) {
		t.Errorf("no keys: %v", err)
	}
}

func TestWaitAPINamesTheFailingChecks(t *testing.T) {
	api := &kubetest.API{Before: func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write([]byte("[+]ping ok\n[-]etcd failed: reason withheld\nreadyz check failed\n"))
		return true
	}}
	err := WaitAPI(context.Background(), serve(t, api), 2*time.Second, silent)
	if err == nil || !strings.Contains(err.Error(), "/readyz returns 500, failing checks: etcd") {
		t.Errorf("got %v", err)
	}
}

// TestAccessFollowsTheRotationOfTheAuthority: at each stage the clients trust what hosts
// trust, and show a certificate of the authority that signs.
func TestAccessFollowsTheRotationOfTheAuthority(t *testing.T) {
	ring := filledRing(t)
	former := newMasters(t, ring, &kubetest.API{}, "m1")
	access := NewAccess(ring)
	use := func(m *masters, want bool) {
		t.Helper()
		access.Use(m.dial, []string{"m1"}, 6443)
		for _, open := range []func() (*Client, error){access.Any, func() (*Client, error) { return access.On("m1") }} {
			client, err := open()
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := client.Raw(t.Context(), http.MethodGet, "/readyz", nil); (err == nil) != want {
				t.Errorf("got %v, want success: %v", err, want)
			}
			client.Close()
		}
	}
	step := func(take func(*keyring.Keys) (*keyring.Keys, error)) {
		t.Helper()
		keys, err := ring.Keys()
		if err == nil {
			keys, err = take(keys)
		}
		if err == nil {
			err = ring.Fill(keys)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	use(former, true)
	step(func(k *keyring.Keys) (*keyring.Keys, error) { return k.Add(keyring.Cluster, time.Now(), time.Hour) })
	use(former, true)
	trusting := newMasters(t, ring, &kubetest.API{}, "m1") // a certificate of the former authority, trusts both
	step(func(k *keyring.Keys) (*keyring.Keys, error) { return k.Promote(keyring.Cluster, time.Now()) })
	use(trusting, true)
	use(former, false) // it does not trust the new authority
	signing := newMasters(t, ring, &kubetest.API{}, "m1")
	use(signing, true)
	step(func(k *keyring.Keys) (*keyring.Keys, error) { return k.Drop(keyring.Cluster, time.Now()) })
	use(signing, true)
	use(trusting, false) // its certificate is of the former authority
}
