// Package handshake reads the certificate that a server presents in a TLS handshake.
package handshake

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"time"
)

// timeout is the maximum duration of the connection and its handshake.
const timeout = 5 * time.Second

// Certificate returns the certificate that an address serves; dial connects to it. Servers that want a
// client's certificate may refuse the connection after that, which does not matter here. Nothing is
// verified: the caller compares the certificate with one that it knows.
func Certificate(ctx context.Context, dial func(ctx context.Context, network, address string) (net.Conn, error), address string) (*x509.Certificate, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	conn, err := dial(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", address, err)
	}
	defer conn.Close()
	var leaf *x509.Certificate
	client := tls.Client(conn, &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, //nolint:gosec // the certificate is compared with the file of the host, and nothing is sent
		VerifyPeerCertificate: func(raw [][]byte, _ [][]*x509.Certificate) error {
			if len(raw) == 0 {
				return errors.New("no certificate")
			}
			var err error
			leaf, err = x509.ParseCertificate(raw[0])
			return err
		},
	})
	if err := client.HandshakeContext(ctx); leaf == nil {
		return nil, fmt.Errorf("connecting to %s: %w", address, err)
	}
	return leaf, nil
}
