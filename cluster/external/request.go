package external

import (
	"crypto"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"deployer/certnames"
	"deployer/cluster"
)

// The extensions that a request may have (RFC 5280, 4.2.1).
var (
	oidSubjectAltName   = asn1.ObjectIdentifier{2, 5, 29, 17}
	oidExtendedKeyUsage = asn1.ObjectIdentifier{2, 5, 29, 37}

	oidServer = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 3, 1}
	oidClient = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 3, 2}
)

// CheckRequest returns the public key of a request in PEM form. CheckRequest fails unless the request
// has the names and usages of the table, and no others.
func CheckRequest(want cluster.Certificate, data []byte) (crypto.PublicKey, error) {
	block, _ := pem.Decode(data)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return nil, errors.New("it is not a certificate request in PEM form")
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, err
	}
	if err := request.CheckSignature(); err != nil {
		return nil, fmt.Errorf("its signature is wrong: %w", err)
	}
	usages, err := requestedUsages(request)
	if err != nil {
		return nil, err
	}
	if len(request.Subject.Names) != 1+len(want.Orgs) || len(request.EmailAddresses)+len(request.URIs) > 0 {
		return nil, fmt.Errorf("it asks for more than the names of %s", want.Name)
	}
	have := certnames.Names{CommonName: request.Subject.CommonName, Organizations: request.Subject.Organization,
		DNS: request.DNSNames, IPs: certnames.Addresses(request.IPAddresses), Usages: usages}
	if difference := have.Difference(wantedNames(want)); difference != "" {
		return nil, errors.New(difference)
	}
	return request.PublicKey, nil
}

// requestedUsages returns the extended key usages of a request. requestedUsages fails for an extension
// that deployer's requests do not have.
func requestedUsages(request *x509.CertificateRequest) ([]string, error) {
	var usages []string
	for _, e := range request.Extensions {
		switch {
		case e.Id.Equal(oidSubjectAltName):
		case e.Id.Equal(oidExtendedKeyUsage):
			var oids []asn1.ObjectIdentifier
			if rest, err := asn1.Unmarshal(e.Value, &oids); err != nil || len(rest) > 0 {
				return nil, errors.New("its extended key usage cannot be read")
			}
			for _, oid := range oids {
				usages = append(usages, usageName(oid))
			}
		default:
			return nil, fmt.Errorf("it asks for the extension %s", e.Id)
		}
	}
	return usages, nil
}

func usageName(oid asn1.ObjectIdentifier) string {
	switch {
	case oid.Equal(oidServer):
		return "server"
	case oid.Equal(oidClient):
		return "client"
	}
	return oid.String()
}

func wantedNames(c cluster.Certificate) certnames.Names {
	return certnames.Names{CommonName: c.CN, Organizations: c.Orgs, DNS: c.DNS, IPs: c.IPs, Usages: c.Usages}
}

// Request describes a request for the owner of an authority.
type Request struct {
	Host          string   `json:"host"`
	Name          string   `json:"name"` // name in the cluster's table of certificates
	Authority     string   `json:"authority"`
	Reason        string   `json:"reason"`      // reason why the certificate has to be issued
	Request       string   `json:"request"`     // path of the request below the directory
	Certificate   string   `json:"certificate"` // path of the certificate below the directory
	InstalledAs   string   `json:"installed_as"`
	Subject       string   `json:"subject"` // subject in the form of openssl -subj
	CommonName    string   `json:"common_name"`
	Organizations []string `json:"organizations"`
	DNS           []string `json:"dns"`
	IPs           []string `json:"ips"`
	KeyUsages     []string `json:"key_usages"`
	Usages        []string `json:"extended_key_usages"`
	Profile       string   `json:"profile"`  // server, client, or peer for both; the names of cfssl
	Validity      string   `json:"validity"` // suggested lifetime, such as 8760h0m0s
}

// Describe returns the description of a request.
func Describe(host string, want cluster.Certificate, reason string, validity time.Duration) Request {
	path := cluster.RequestPath(host, want)
	r := Request{
		Host: host, Name: want.Name, Authority: want.Authority, Reason: reason,
		Request: path + ".csr", Certificate: path + ".crt", InstalledAs: want.CertPath,
		CommonName: want.CN, Organizations: want.Orgs, DNS: want.DNS, IPs: want.IPs,
		KeyUsages: keyUsages(), Usages: []string{}, Validity: validity.String(),
	}
	for _, org := range want.Orgs {
		r.Subject += "/O=" + org
	}
	r.Subject += "/CN=" + want.CN
	for _, u := range want.Usages {
		r.Usages = append(r.Usages, u+"Auth")
	}
	switch r.Profile = "peer"; {
	case !slices.Contains(want.Usages, "server"):
		r.Profile = "client"
	case !slices.Contains(want.Usages, "client"):
		r.Profile = "server"
	}
	return r
}

// keyUsages returns the key usages of certificates that deployer signs itself.
func keyUsages() []string { return []string{"digitalSignature", "keyEncipherment"} }

// OpenSSL returns the file of extensions for openssl x509 -req -extfile.
func (r Request) OpenSSL() string {
	var alternatives []string
	for _, name := range r.DNS {
		alternatives = append(alternatives, "DNS:"+name)
	}
	for _, ip := range r.IPs {
		alternatives = append(alternatives, "IP:"+ip)
	}
	lines := []string{
		"# Extensions of " + r.Certificate + ", for openssl x509 -req -extfile",
		"basicConstraints = critical, CA:FALSE",
		"keyUsage = critical, " + strings.Join(r.KeyUsages, ", "),
		"extendedKeyUsage = " + strings.Join(r.Usages, ", "),
		"authorityKeyIdentifier = keyid",
	}
	if len(alternatives) > 0 {
		lines = append(lines, "subjectAltName = "+strings.Join(alternatives, ", "))
	}
	return strings.Join(lines, "\n") + "\n"
}
