package keyring

import (
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"time"
)

// Certificate describes a leaf certificate.
type Certificate struct {
	Name          string // in requests of hosts
	Authority     string // Cluster, Etcd or FrontProxy
	CommonName    string
	Organizations []string
	DNSNames      []string
	IPs           []net.IP
	Server        bool // for TLS servers
	Client        bool // for TLS clients
	// Validity is the lifetime; 0 means one year, as with kubeadm. It ends with the
	// authority at the latest.
	Validity time.Duration
}

// Wanted returns the row of the controller's table of certificates for a host and the
// name of a certificate; false when the host has none of that name.
type Wanted func(host, name string) (Certificate, bool)

// SignRequest signs the public key of a PEM-encoded PKCS#10 request by the table's row
// for host and name. SignRequest ignores all else in the request, whose signature proves that the
// host has the private key. The result is PEM.
func (k *Keys) SignRequest(wanted Wanted, host, name string, requestPEM []byte, now time.Time) ([]byte, error) {
	spec, ok := wanted(host, name)
	if !ok {
		return nil, fmt.Errorf("host %s is not to have a certificate %q", host, name)
	}
	pub, err := requestKey(requestPEM)
	if err != nil {
		return nil, fmt.Errorf("reading the request of host %s for certificate %q: %w", host, name, err)
	}
	return k.Sign(spec, pub, now)
}

// Sign creates a leaf certificate for a public key. The result is PEM.
func (k *Keys) Sign(spec Certificate, pub crypto.PublicKey, now time.Time) ([]byte, error) {
	authority, err := k.Authority(spec.Authority)
	if err != nil {
		return nil, fmt.Errorf("signing certificate %q: %w", spec.Name, err)
	}
	if authority.External() {
		return nil, fmt.Errorf("signing certificate %q: %w", spec.Name, ErrExternal)
	}
	template, err := leaf(spec, authority.Cert.NotAfter, now)
	if err != nil {
		return nil, fmt.Errorf("signing certificate %q: %w", spec.Name, err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, authority.Cert, pub, authority.key)
	if err != nil {
		return nil, fmt.Errorf("signing certificate %q: %w", spec.Name, err)
	}
	return encodeCert(der), nil
}

func leaf(spec Certificate, limit, now time.Time) (*x509.Certificate, error) {
	if spec.CommonName == "" {
		return nil, errors.New("it has no common name")
	}
	if !spec.Server && !spec.Client {
		return nil, errors.New("it is neither for servers nor for clients")
	}
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	validity := spec.Validity
	if validity == 0 {
		validity = leafValidity
	}
	end := now.Add(validity)
	if end.After(limit) {
		end = limit
	}
	cert := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: spec.CommonName, Organization: spec.Organizations},
		DNSNames:              spec.DNSNames,
		IPAddresses:           spec.IPs,
		NotBefore:             now.Add(-Backdate).UTC(),
		NotAfter:              end.UTC(),
		KeyUsage:              x509.KeyUsageKeyEncipherment | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
	}
	if spec.Server {
		cert.ExtKeyUsage = append(cert.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	if spec.Client {
		cert.ExtKeyUsage = append(cert.ExtKeyUsage, x509.ExtKeyUsageClientAuth)
	}
	return cert, nil
}

// requestKey returns the public key of a request whose signature verifies. It checks
// type and size first: the verification of a signature with a key of a million bits
// takes minutes.
func requestKey(requestPEM []byte) (crypto.PublicKey, error) {
	block, _ := pem.Decode(requestPEM)
	if block == nil || block.Type != requestType {
		return nil, errors.New("it is not a certificate request in PEM form")
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, err
	}
	if err := usableKey(request.PublicKey); err != nil {
		return nil, err
	}
	if err := request.CheckSignature(); err != nil {
		return nil, fmt.Errorf("its signature is wrong: %w", err)
	}
	return request.PublicKey, nil
}
