package keyring

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"time"
)

// The names of the authorities, as [Certificate] refers to them.
const (
	Cluster    = "cluster"
	Etcd       = "etcd"
	FrontProxy = "front-proxy"
)

// The validity of certificates, from kubeadm: CACertificateValidityPeriod,
// CertificateValidityPeriod and CertificateBackdate of
// cmd/kubeadm/app/constants/constants.go in Kubernetes v1.36. Certificates are backdated
// because the clocks of hosts differ.
const (
	authorityValidity = 10 * 365 * 24 * time.Hour
	leafValidity      = 365 * 24 * time.Hour
	// Backdate is the time by which certificates start to be valid before they are made, because
	// the clocks of hosts differ.
	Backdate = 5 * time.Minute
)

// Authority is a certificate authority with its key.
type Authority struct {
	Name string
	Cert *x509.Certificate
	key  crypto.Signer

	certPEM, keyPEM []byte
}

// domain is a row of the table of trust domains. The common names are kubeadm's
// (cmd/kubeadm/app/phases/certs/certlist.go).
type domain struct {
	name, commonName  string
	certPath, keyPath string
}

func domains() []domain {
	return []domain{
		{Cluster, "kubernetes", ClusterCert, ClusterKey},
		{Etcd, "etcd-ca", EtcdCert, EtcdKey},
		{FrontProxy, "front-proxy-ca", FrontProxyCert, FrontProxyKey},
	}
}

// newAuthority creates an authority with a new ECDSA P-256 key.
func newAuthority(d domain, now time.Time, lifetime time.Duration) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making the key of the %s authority: %w", d.name, err)
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return nil, err
	}
	return selfSign(d, key, keyPEM, now, lifetime)
}

// selfSign creates the certificate of an authority from its key. Subject and key
// identifier depend only on the domain and the key, so that certificates signed by the
// key before verify against the new certificate too.
func selfSign(d domain, key crypto.Signer, keyPEM []byte, now time.Time, lifetime time.Duration) (*Authority, error) {
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: d.commonName},
		DNSNames:              []string{d.commonName},
		NotBefore:             now.Add(-Backdate).UTC(),
		NotAfter:              now.Add(lifetime).UTC(),
		KeyUsage:              x509.KeyUsageKeyEncipherment | x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("making the certificate of the %s authority: %w", d.name, err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("reading back the certificate of the %s authority: %w", d.name, err)
	}
	return &Authority{Name: d.name, Cert: cert, key: key, certPEM: encodeCert(der), keyPEM: keyPEM}, nil
}

// Pool returns a pool with this authority alone.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.Cert)
	return pool
}

// newSerial returns a random serial number of 127 bits; RFC 5280 requires a positive
// number of at most 20 bytes.
func newSerial() (*big.Int, error) {
	limit := new(big.Int).Lsh(big.NewInt(1), 127)
	n, err := rand.Int(rand.Reader, limit)
	if err != nil {
		return nil, fmt.Errorf("making a serial number: %w", err)
	}
	return n.Add(n, big.NewInt(1)), nil
}
