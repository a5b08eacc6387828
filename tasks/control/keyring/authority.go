package keyring

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"slices"
	"time"
)

// The names of the authorities, as [Certificate] refers to them.
const (
	Cluster    = "cluster"
	Etcd       = "etcd"
	FrontProxy = "front-proxy"
	// EtcdCalico is the authority of the etcd cluster in which Calico has its objects. Only a cluster
	// with such an etcd has it.
	EtcdCalico = "etcd-calico"
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

// Authority is a certificate authority with its key. During a rotation hosts trust more
// certificates than the one that signs, and the masters may have the authority that signs
// after it.
type Authority struct {
	Name string
	Cert *x509.Certificate // signs
	key  crypto.Signer
	next *Authority // signs after the next phase of a rotation; nil without one

	trusted []*x509.Certificate // Cert first

	certPEM, keyPEM []byte // certPEM has the certificates of trusted
}

// domain is a row of the table of trust domains. The common names are kubeadm's
// (cmd/kubeadm/app/phases/certs/certlist.go).
type domain struct {
	name, commonName            string
	certPath, keyPath, nextPath string
	optional                    bool // a cluster may be without it
}

func domains() []domain {
	return []domain{
		{name: Cluster, commonName: "kubernetes", certPath: ClusterCert, keyPath: ClusterKey, nextPath: ClusterNext},
		{name: Etcd, commonName: "etcd-ca", certPath: EtcdCert, keyPath: EtcdKey, nextPath: EtcdNext},
		{name: FrontProxy, commonName: "front-proxy-ca", certPath: FrontProxyCert, keyPath: FrontProxyKey, nextPath: FrontProxyNext},
		{name: EtcdCalico, commonName: "etcd-calico-ca", certPath: EtcdCalicoCert, keyPath: EtcdCalicoKey, nextPath: EtcdCalicoNext, optional: true},
	}
}

// newAuthority creates an authority with a new ECDSA P-256 key. Its certificate names the
// authorities that it replaces.
func newAuthority(d domain, now time.Time, lifetime time.Duration, replaces ...*url.URL) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making the key of the %s authority: %w", d.name, err)
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return nil, err
	}
	return selfSign(d, key, keyPEM, now, lifetime, replaces...)
}

// selfSign creates the certificate of an authority from its key. Subject and key
// identifier depend only on the domain and the key, so that certificates signed by the
// key before verify against the new certificate too.
func selfSign(d domain, key crypto.Signer, keyPEM []byte, now time.Time, lifetime time.Duration, replaces ...*url.URL) (*Authority, error) {
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: d.commonName},
		DNSNames:              []string{d.commonName},
		URIs:                  replaces,
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
	return &Authority{Name: d.name, Cert: cert, key: key, trusted: []*x509.Certificate{cert}, certPEM: encodeCert(der), keyPEM: keyPEM}, nil
}

// parseAuthority parses an authority and refuses one that cannot sign. nextPEM may be nil.
// A next authority that signs already, or that another one has replaced, is left out.
func parseAuthority(d domain, certPEM, keyPEM, nextPEM []byte, now time.Time) (*Authority, error) {
	trusted, err := ParseCertificates(certPEM)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", d.certPath, err)
	}
	key, err := decodeKey(keyPEM)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", d.keyPath, err)
	}
	i := slices.IndexFunc(trusted, func(c *x509.Certificate) bool { return samePublic(c.PublicKey, key.Public()) })
	if i < 0 {
		return nil, fmt.Errorf("%s does not belong to %s; restore the right key on one master and remove the wrong one from the others", d.keyPath, d.certPath)
	}
	a := &Authority{Name: d.name, Cert: trusted[i], key: key, trusted: trusted, certPEM: certPEM, keyPEM: keyPEM}
	switch {
	case !a.Cert.IsCA:
		return nil, fmt.Errorf("%s is not the certificate of an authority", d.certPath)
	case now.After(a.Cert.NotAfter):
		return nil, fmt.Errorf("%s expired on %s; the authority must be rotated", d.certPath, a.Cert.NotAfter.Format(time.DateOnly))
	}
	if nextPEM != nil {
		next, err := parseNext(d, nextPEM)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w; remove it from every master, and deployer certs rotate-ca makes another one", d.nextPath, err)
		}
		if replaces(next.Cert, a.Cert) {
			a.next = next
		}
	}
	a.arrange()
	return a, nil
}

// parseNext parses the file with certificate and key of a next authority.
func parseNext(d domain, data []byte) (*Authority, error) {
	cert, err := decodeCert(data)
	if err != nil {
		return nil, err
	}
	key, err := decodeKey(data)
	if err != nil {
		return nil, err
	}
	if !samePublic(cert.PublicKey, key.Public()) {
		return nil, errors.New("its key does not belong to its certificate")
	}
	return &Authority{Name: d.name, Cert: cert, key: key, certPEM: encodeCert(cert.Raw), keyPEM: data}, nil
}

// arrange puts the certificate that signs first and adds that of the next authority.
func (a *Authority) arrange() {
	before := slices.Clone(a.trusted)
	certs := []*x509.Certificate{a.Cert}
	if a.next != nil {
		certs = append(certs, a.next.Cert)
	}
	for _, c := range a.trusted {
		if !slices.ContainsFunc(certs, c.Equal) && !replaces(c, a.Cert) {
			certs = append(certs, c)
		}
	}
	if a.trusted = certs; !slices.EqualFunc(before, certs, (*x509.Certificate).Equal) {
		a.certPEM = EncodeCertificates(certs)
	}
}

// Pool returns a pool with all certificates that hosts trust.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	for _, c := range a.trusted {
		pool.AddCert(c)
	}
	return pool
}

// Trusts reports whether hosts trust a certificate of an authority.
func (a *Authority) Trusts(cert *x509.Certificate) bool {
	return slices.ContainsFunc(a.trusted, cert.Equal)
}

// Trusted returns the certificates that hosts trust; the one that signs first.
func (a *Authority) Trusted() []*x509.Certificate { return slices.Clone(a.trusted) }

// Replaces reports whether the authority was made to replace that of a certificate.
func (a *Authority) Replaces(former *x509.Certificate) bool { return replaces(a.Cert, former) }

// Bundle returns the certificates that hosts trust in PEM form; the one that signs first.
func (a *Authority) Bundle() []byte { return slices.Clone(a.certPEM) }

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
