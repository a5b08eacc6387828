package keyring

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"time"
)

// Identity returns a client certificate with a new key for the controller's own
// connections. Certificate and key exist in memory only; the certificate expires after
// ttl.
func (k *Keys) Identity(authority, commonName string, organizations []string, ttl time.Duration, now time.Time) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("creating a key for %s: %w", commonName, err)
	}
	spec := Certificate{
		Name:          commonName,
		Authority:     authority,
		CommonName:    commonName,
		Organizations: organizations,
		Client:        true,
		Validity:      ttl,
	}
	certPEM, err := k.Sign(spec, key.Public(), now)
	if err != nil {
		return nil, err
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("joining the certificate and key of %s: %w", commonName, err)
	}
	return &pair, nil
}
