package certnames

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"net"
	"testing"
)

func TestDifference(t *testing.T) {
	t.Parallel()
	want := Names{"n1", []string{"o1", "o2"}, []string{"a", "b"}, []string{"10.0.0.1", "fd00::1"}, []string{"client", "server"}}
	for name, tt := range map[string]struct {
		change func(*x509.Certificate)
		want   string
	}{
		"the same names in another order are no difference": {func(c *x509.Certificate) { c.DNSNames = []string{"b", "a", "b"} }, ""},
		"another common name":                               {func(c *x509.Certificate) { c.Subject.CommonName = "n2" }, `its common name is "n2", want "n1"`},
		"a further organization":                            {func(c *x509.Certificate) { c.Subject.Organization = []string{"o1", "o2", "o3"} }, "its organizations are [o1 o2 o3], want [o1 o2]"},
		"a missing DNS name":                                {func(c *x509.Certificate) { c.DNSNames = c.DNSNames[:1] }, "its DNS names are [a], want [a b]"},
		"another address":                                   {func(c *x509.Certificate) { c.IPAddresses[0] = net.IPv4(10, 0, 0, 2) }, "its addresses are [10.0.0.2 fd00::1], want [10.0.0.1 fd00::1]"},
		"a missing usage":                                   {func(c *x509.Certificate) { c.ExtKeyUsage = c.ExtKeyUsage[:1] }, "its extended key usages are [server], want [client server]"},
		"a usage that Go has no name":                       {func(c *x509.Certificate) { c.UnknownExtKeyUsage = []asn1.ObjectIdentifier{{1, 2, 3}} }, "its extended key usages are [1.2.3 client server], want [client server]"},
	} {
		cert := &x509.Certificate{
			Subject:     pkix.Name{CommonName: "n1", Organization: []string{"o2", "o1"}},
			DNSNames:    []string{"a", "b"},
			IPAddresses: []net.IP{net.IPv4(10, 0, 0, 1), net.ParseIP("fd00:0::1")},
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		}
		tt.change(cert)
		if got := FromCertificate(cert).Difference(want); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
