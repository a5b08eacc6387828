// Package access connects the keeper to the Kubernetes API and to etcd with the certificates of its
// master.
package access

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"

	"deployer/keeper/apiaccess"
	"deployer/keeper/config"
	"deployer/tasks/control/etcd"
	"deployer/tasks/control/kube"
)

// Access is the connections of the keeper.
type Access struct {
	Kube    *kube.Client
	Leases  coordination.CoordinationV1Interface
	Open    etcd.Opener
	Members []etcd.Host

	leases      *http.Client
	fingerprint [sha256.Size]byte
}

// leaseTimeout is the maximum duration of one request for the lease.
const leaseTimeout = 5 * time.Second

// Fingerprint identifies what connections are made of: the settings, the authorities' certificates, which
// a rotation replaces, and those of the keeper, which are renewed. An API server refuses requests on an
// open connection when the certificate that opened it has expired.
func Fingerprint(file config.File) ([sha256.Size]byte, error) {
	h := sha256.New()
	if err := json.NewEncoder(h).Encode([]any{file.API, file.Etcd}); err != nil {
		return [sha256.Size]byte{}, err
	}
	for _, path := range []string{file.API.CA, file.API.Cert, file.Etcd.CA, file.Etcd.Cert} {
		text, err := os.ReadFile(path)
		if err != nil {
			return [sha256.Size]byte{}, fmt.Errorf("reading a certificate: %w", err)
		}
		h.Write(text)
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}

// New connects with the settings of a configuration. It opens no connection. count returns what sends requests to the
// API, and counts them, in place of the one that it is given.
func New(file config.File, count func(http.RoundTripper) http.RoundTripper) (*Access, error) {
	fingerprint, err := Fingerprint(file)
	if err != nil {
		return nil, err
	}
	api, err := apiaccess.ClientTLS(file.API.CA, fromFiles(file.API.Cert, file.API.Key))
	if err != nil {
		return nil, err
	}
	members, err := apiaccess.ClientTLS(file.Etcd.CA, fromFiles(file.Etcd.Cert, file.Etcd.Key))
	if err != nil {
		return nil, err
	}
	client, err := kube.New(kube.Options{URL: file.API.Server, TLS: api, Transport: count})
	if err != nil {
		return nil, err
	}
	own := &http.Client{Transport: count(&http.Transport{TLSClientConfig: api.Clone(), ForceAttemptHTTP2: true}), Timeout: leaseTimeout}
	leases, err := coordination.NewForConfigAndClient(&rest.Config{Host: file.API.Server, UserAgent: "deployer-keeper"}, own)
	if err != nil {
		return nil, fmt.Errorf("creating a client for %s: %w", file.API.Server, err)
	}
	a := &Access{Kube: client, Leases: leases, leases: own, fingerprint: fingerprint}
	a.Open = etcd.Open(func(ctx context.Context, _, network, address string) (net.Conn, error) {
		return Dial(ctx, network, address)
	}, members)
	for _, m := range file.Etcd.Members {
		a.Members = append(a.Members, etcd.Host{Name: m.Name, Address: m.Address, PeerURL: m.PeerURL})
	}
	return a, nil
}

// Current reports whether the connections are those of a configuration.
func (a *Access) Current(file config.File) bool {
	now, err := Fingerprint(file)
	return err == nil && now == a.fingerprint
}

// Close closes connections that are idle.
func (a *Access) Close() {
	a.Kube.Close()
	a.leases.CloseIdleConnections()
}

// dialTimeout is the maximum time for a connection.
const dialTimeout = 5 * time.Second

// Dial opens a connection from this host.
func Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, network, address)
}

// fromFiles reads the keeper's certificate and key.
func fromFiles(cert, key string) func() (tls.Certificate, error) {
	return func() (tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return pair, fmt.Errorf("reading the keeper's certificate: %w", err)
		}
		return pair, nil
	}
}
