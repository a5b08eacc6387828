//go:build lab

package harness

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"sync"
)

// identity has the authority and the certificate of a client outside of the cluster. New connections use
// the present one.
type identity struct {
	mu    sync.Mutex
	roots *x509.CertPool
	pair  tls.Certificate
}

func (i *identity) set(roots *x509.CertPool, pair tls.Certificate) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.roots, i.pair = roots, pair
}

// config returns the TLS settings of a client with this identity.
func (i *identity) config() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection does it, with the authorities of the time
		VerifyConnection: func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 {
				return errors.New("the server has no certificate")
			}
			between := x509.NewCertPool()
			for _, c := range state.PeerCertificates[1:] {
				between.AddCert(c)
			}
			i.mu.Lock()
			defer i.mu.Unlock()
			_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: i.roots, Intermediates: between})
			return err
		},
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			i.mu.Lock()
			defer i.mu.Unlock()
			pair := i.pair
			return &pair, nil
		},
	}
}

// FollowAuthorities gives the prober the authorities of the cluster and new
// certificates of them, as operators do between the phases of a rotation.
func (s *Site) FollowAuthorities() {
	s.T.Helper()
	const etcd = "/etc/kubernetes/pki/etcd/"
	pair, err := tls.X509KeyPair([]byte(s.Shell("m1", "cat "+etcd+"healthcheck-client.crt")), []byte(s.Shell("m1", "cat "+etcd+"healthcheck-client.key")))
	if err != nil {
		s.T.Fatal(err)
	}
	s.etcd.set(s.roots(etcd+"ca.crt"), pair)
	s.api.set(s.roots("/etc/kubernetes/pki/ca.crt"), s.proberCertificate())
}

// roots returns the certificates in a file of the first master.
func (s *Site) roots(file string) *x509.CertPool {
	s.T.Helper()
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(s.Shell("m1", "cat "+file))) {
		s.T.Fatalf("%s has no certificate", file)
	}
	return pool
}
