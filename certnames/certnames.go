// Package certnames compares the subject, the alternative names and the extended key usages
// of a certificate, or of a request, with the wanted ones. Hosts, the controller and
// authorities outside of the cluster apply this one rule. Any package may import it.
package certnames

import (
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// Names are the parts of a certificate that say for whom and for what it is valid. Lists
// are sets: order and repetitions do not count.
type Names struct {
	CommonName    string
	Organizations []string
	DNS           []string
	IPs           []string // in any spelling
	Usages        []string // server, client, or an OID in dotted form
}

// FromCertificate returns the names of a certificate.
func FromCertificate(cert *x509.Certificate) Names {
	n := Names{cert.Subject.CommonName, cert.Subject.Organization, cert.DNSNames, Addresses(cert.IPAddresses), nil}
	for _, u := range cert.ExtKeyUsage {
		switch u {
		case x509.ExtKeyUsageServerAuth:
			n.Usages = append(n.Usages, "server")
		case x509.ExtKeyUsageClientAuth:
			n.Usages = append(n.Usages, "client")
		default:
			n.Usages = append(n.Usages, fmt.Sprintf("usage %d", u))
		}
	}
	for _, oid := range cert.UnknownExtKeyUsage {
		n.Usages = append(n.Usages, oid.String())
	}
	return n
}

// Addresses returns addresses as text.
func Addresses(ips []net.IP) []string {
	out := make([]string, len(ips))
	for i, ip := range ips {
		out[i] = ip.String()
	}
	return out
}

// Difference returns the first difference from the wanted names, such as "its DNS names are
// [a], want [a b]"; empty when there is none.
func (n Names) Difference(want Names) string {
	if n.CommonName != want.CommonName {
		return fmt.Sprintf("its common name is %q, want %q", n.CommonName, want.CommonName)
	}
	for _, list := range []struct {
		what       string
		have, want []string
	}{
		{"organizations", n.Organizations, want.Organizations},
		{"DNS names", n.DNS, want.DNS},
		{"addresses", canonical(n.IPs), canonical(want.IPs)},
		{"extended key usages", n.Usages, want.Usages},
	} {
		if have, want := set(list.have), set(list.want); !slices.Equal(have, want) {
			return fmt.Sprintf("its %s are [%s], want [%s]", list.what, strings.Join(have, " "), strings.Join(want, " "))
		}
	}
	return ""
}

func set(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }

// canonical returns addresses in their canonical spelling. A text that is no address stays
// as it is, so that it differs from every address.
func canonical(ips []string) []string {
	out := make([]string, len(ips))
	for i, ip := range ips {
		out[i] = ip
		if a, err := netip.ParseAddr(ip); err == nil {
			out[i] = a.Unmap().String()
		}
	}
	return out
}
