// Package apiaccess has connections of this host to the API by files of the host. It knows nothing of
// Kubernetes, so that the agent, which must stay small, may use it.
package apiaccess

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// ClientTLS returns the settings of connections that trust the authority in a file and present the
// certificate that read returns. It is read for each connection, because it is renewed.
func ClientTLS(ca string, read func() (tls.Certificate, error)) (*tls.Config, error) {
	roots, err := Authorities(ca)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		RootCAs: roots, MinVersion: tls.VersionTLS12,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := read()
			return &pair, err
		},
	}, nil
}

// Authorities returns the certificates of authorities in a file; during a rotation there are two.
func Authorities(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate of an authority: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate", file)
	}
	return roots, nil
}
