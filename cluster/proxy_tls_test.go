package cluster_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"deployer/cluster"
)

// TestProxyCertificate: a certificate fits its key, the time and what clients require.
func TestProxyCertificate(t *testing.T) {
	now := time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)
	issue := func(until time.Time, names ...string) cluster.ProxyTLS {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: until, DNSNames: names},
			&x509.Certificate{SerialNumber: big.NewInt(1)}, key.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		private, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return cluster.ProxyTLS{
			Chain:      string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
			PrivateKey: string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})),
		}
	}
	good, other := issue(now.Add(time.Hour), "api.example"), issue(now.Add(time.Hour), "api.example")
	for what, c := range map[string]struct {
		tls  cluster.ProxyTLS
		want string
	}{
		"good":            {good, ""},
		"expired":         {issue(now.Add(-time.Hour), "api.example"), "has expired on 2026-11-27"},
		"without names":   {issue(now.Add(time.Hour)), "no subject alternative name"},
		"of another key":  {cluster.ProxyTLS{Chain: good.Chain, PrivateKey: other.PrivateKey}, "no pair"},
		"no certificate":  {cluster.ProxyTLS{Chain: "x", PrivateKey: good.PrivateKey}, "no pair"},
		"files exchanged": {cluster.ProxyTLS{Chain: good.PrivateKey, PrivateKey: good.Chain}, "no pair"},
	} {
		switch err := c.tls.Check(now); {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", what, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
	}
}
