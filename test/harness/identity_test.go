//go:build lab

package harness

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"deployer/tasks/control/keyring"
)

// TestIdentityFollows: a client connects with the present authorities and
// certificate, and not with those from before a rotation.
func TestIdentityFollows(t *testing.T) {
	former, _, err := keyring.Complete(nil, time.Now(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	trusted, err := former.Add(keyring.Cluster, time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	present, err := trusted.Promote(keyring.Cluster, time.Now())
	if err == nil {
		present, err = present.Drop(keyring.Cluster, time.Now())
	}
	if err != nil {
		t.Fatal(err)
	}
	authority, err := present.Authority(keyring.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := present.Identity(keyring.Cluster, "client", nil, time.Hour, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {}))
	server, err := serverPair(present)
	if err != nil {
		t.Fatal(err)
	}
	s.TLS = &tls.Config{Certificates: []tls.Certificate{*server}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: authority.Pool()}
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	i := &identity{}
	get := func() error {
		transport := &http.Transport{TLSClientConfig: i.config().Clone(), ForceAttemptHTTP2: true}
		defer transport.CloseIdleConnections()
		resp, err := (&http.Client{Transport: transport}).Get(s.URL)
		if err == nil {
			err = resp.Body.Close()
		}
		return err
	}
	was, err := former.Authority(keyring.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	i.set(was.Pool(), *pair)
	if get() == nil {
		t.Error("the client trusts the new authority before it has followed")
	}
	i.set(authority.Pool(), *pair)
	if err := get(); err != nil {
		t.Errorf("the client has followed: %v", err)
	}
	old, err := former.Identity(keyring.Cluster, "client", nil, time.Hour, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	i.set(authority.Pool(), *old)
	if get() == nil {
		t.Error("the server accepts a certificate of the former authority")
	}
}

// serverPair returns a certificate of a server on the loopback interface.
func serverPair(keys *keyring.Keys) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	signed, err := keys.Sign(keyring.Certificate{Name: "server", Authority: keyring.Cluster, CommonName: "server", Server: true, IPs: []net.IP{net.IPv4(127, 0, 0, 1)}}, key.Public(), time.Now())
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(signed)
	return &tls.Certificate{Certificate: [][]byte{block.Bytes}, PrivateKey: key}, nil
}
