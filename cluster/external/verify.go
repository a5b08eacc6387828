package external

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	"deployer/certnames"
	"deployer/cluster"
)

// Verify returns the certificate of a file that an authority has issued. Verify fails unless the
// certificate has the names and usages of the table and the public key key, is signed by the first certificate of
// the authority, and is valid now. A nil key is not compared.
func Verify(want cluster.Certificate, data []byte, key crypto.PublicKey, authority []*x509.Certificate, now time.Time) (*x509.Certificate, error) {
	block, _ := pem.Decode(data)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, errors.New("it does not begin with a certificate in PEM form")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("it cannot be read: %w", err)
	}
	if key != nil && !SamePublic(cert.PublicKey, key) {
		return cert, errors.New("its public key is not that of the request")
	}
	if difference := certnames.FromCertificate(cert).Difference(wantedNames(want)); difference != "" {
		return cert, errors.New(difference)
	}
	switch {
	case len(cert.EmailAddresses)+len(cert.URIs) > 0:
		err = errors.New("it has e-mail addresses or URIs among its names, and the request has none")
	case cert.IsCA:
		err = errors.New("it is the certificate of an authority: its basic constraint must be CA:FALSE")
	case cert.KeyUsage != 0 && cert.KeyUsage&x509.KeyUsageDigitalSignature == 0:
		err = errors.New("its key usage lacks digitalSignature")
	case cert.CheckSignatureFrom(authority[0]) != nil:
		err = fmt.Errorf("it is issued by %s and not signed by the authority %s", cert.Issuer, authority[0].Subject)
	case now.After(cert.NotAfter):
		err = fmt.Errorf("it expired on %s", cert.NotAfter.UTC().Format(time.DateOnly))
	case now.Before(cert.NotBefore):
		err = fmt.Errorf("it is valid only from %s", cert.NotBefore.UTC().Format(time.RFC3339))
	}
	return cert, err
}

// SamePublic reports whether two public keys are the same.
func SamePublic(a, b crypto.PublicKey) bool {
	k, ok := a.(interface{ Equal(crypto.PublicKey) bool })
	return ok && k.Equal(b)
}
