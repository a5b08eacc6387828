package objectstore

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"time"
)

// idleTimeout is the time for which a connection may neither take nor bring a byte.
const idleTimeout = time.Minute

// newTransport returns the transport of a client that trusts authorities, PEM certificates;
// empty for those that the machine trusts.
func newTransport(authorities string) (*http.Transport, error) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	if authorities != "" {
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM([]byte(authorities)) {
			return nil, errors.New("the authorities of the object store's certificate (ca, AWS_CA_BUNDLE) hold no certificate in PEM form")
		}
		t.TLSClientConfig.RootCAs = pool
	}
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return idleConn{conn}, nil
	}
	t.ForceAttemptHTTP2 = false
	t.DisableCompression = true // sizes and digests are those of the content as it is stored
	return t, nil
}

// idleConn fails when a read or a write takes longer than idleTimeout.
type idleConn struct{ net.Conn }

func (c idleConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(idleTimeout)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

func (c idleConn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(idleTimeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}
