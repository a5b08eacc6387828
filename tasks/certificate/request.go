package certificate

import (
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"net"
	"time"

	"deployer/engine"
	"deployer/tasks/hostfile"
)

// requestOutput makes the missing keys, and returns a request for each certificate that has
// to be issued.
func (c *Certificates) requestOutput(sys engine.System, wants []Want) (engine.Output, error) {
	list := []any{}
	for _, w := range wants {
		s, err := look(sys, w, time.Now())
		if err == nil && s.key == nil {
			err = s.replaceKey(sys)
		}
		if err == nil && !s.why().none() {
			var csr []byte
			csr, err = w.requestFor(s.key)
			list = append(list, map[string]any{"name": w.Name, "csr": string(csr), "state": s.why().state, "detail": s.why().reason})
		}
		if err != nil {
			return nil, fmt.Errorf("certificate %s: %w", w.Name, err)
		}
	}
	return engine.Output{"requests": list}, nil
}

// replaceKey makes a key in the place of one that is missing or cannot be read.
func (s *state) replaceKey(sys engine.System) error {
	if err := hostfile.Parents(sys, s.want.KeyPath); err != nil {
		return err
	}
	if err := sys.Backup(s.want.KeyPath); err != nil {
		return err
	}
	return s.makeKey(sys)
}

// The extended key usages of RFC 5280, 4.2.1.12.
var (
	oidExtendedKeyUsage = asn1.ObjectIdentifier{2, 5, 29, 37}
	oidUsages           = map[string]asn1.ObjectIdentifier{
		"server": {1, 3, 6, 1, 5, 5, 7, 3, 1},
		"client": {1, 3, 6, 1, 5, 5, 7, 3, 2},
	}
)

// requestFor creates a signing request with all names and usages of the certificate,
// for authorities that copy them from the request. The controller reads only the
// public key of a request that it signs itself.
func (w Want) requestFor(key crypto.Signer) ([]byte, error) {
	var usages []asn1.ObjectIdentifier
	for _, u := range w.Usages {
		usages = append(usages, oidUsages[u])
	}
	extended, err := asn1.Marshal(usages)
	if err != nil {
		return nil, err
	}
	template := &x509.CertificateRequest{
		Subject:         pkix.Name{CommonName: w.CN, Organization: w.Orgs},
		DNSNames:        w.DNS,
		ExtraExtensions: []pkix.Extension{{Id: oidExtendedKeyUsage, Value: extended}},
	}
	for _, ip := range w.IPs {
		template.IPAddresses = append(template.IPAddresses, net.ParseIP(ip))
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), nil
}
