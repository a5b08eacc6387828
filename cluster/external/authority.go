package external

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"time"
)

// member is a certificate of a file of authorities, and the line on which it begins.
type member struct {
	*x509.Certificate
	line int
}

// ParseAuthority returns the certificates of a file with an authority: the one that signs
// first, then those above it up to a self-signed one. An error names the line of the
// certificate that cannot be part of an authority.
func ParseAuthority(data []byte, now time.Time) ([]*x509.Certificate, error) {
	members, err := parseMembers(data)
	if err != nil {
		return nil, err
	}
	var certs []*x509.Certificate
	for _, m := range members {
		if err := m.mayBeAuthority(now); err != nil {
			return nil, fmt.Errorf("line %d: %s %w", m.line, m.Subject, err)
		}
		certs = append(certs, m.Certificate)
	}
	for i, m := range members {
		if !leadsToRoot(m.Certificate, certs) {
			return nil, fmt.Errorf("line %d: %s is signed by %s, whose certificate is not in the file: append it, up to a self-signed one", m.line, m.Subject, m.Issuer)
		}
		if i > 0 && !signsAny(m.Certificate, certs[:i]) && !m.Equal(certs[0]) {
			return nil, fmt.Errorf("line %d: %s has signed no certificate before it in the file: the first one is the authority, the others are above it", m.line, m.Subject)
		}
	}
	return certs, nil
}

// parseMembers reads the PEM blocks of a file.
func parseMembers(data []byte) ([]member, error) {
	var members []member
	line := 1
	for rest := data; ; {
		block, after := pem.Decode(rest)
		if block == nil {
			break
		}
		at := line + bytes.Count(rest[:bytes.Index(rest, []byte("-----BEGIN "))], []byte("\n"))
		line += bytes.Count(rest[:len(rest)-len(after)], []byte("\n"))
		rest = after
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("line %d: there is a %s, and the file may have certificates only", at, block.Type)
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("line %d: reading the certificate: %w", at, err)
		}
		members = append(members, member{cert, at})
	}
	if len(members) == 0 {
		return nil, errors.New("there is no certificate in PEM form")
	}
	return members, nil
}

// mayBeAuthority returns the reason why a certificate cannot sign certificates of servers
// and clients now.
func (m member) mayBeAuthority(now time.Time) error {
	switch {
	case !m.BasicConstraintsValid || !m.IsCA:
		return errors.New("is not the certificate of an authority: it has no basic constraint CA:TRUE")
	case m.KeyUsage&x509.KeyUsageCertSign == 0:
		return errors.New("may not sign certificates: its key usage lacks keyCertSign")
	case !mayIssue(m.Certificate, x509.ExtKeyUsageServerAuth) || !mayIssue(m.Certificate, x509.ExtKeyUsageClientAuth):
		return errors.New("may not sign certificates of servers and clients: its extended key usage lacks serverAuth or clientAuth")
	case now.After(m.NotAfter):
		return fmt.Errorf("expired on %s", m.NotAfter.UTC().Format(time.DateOnly))
	case now.Before(m.NotBefore):
		return fmt.Errorf("is valid only from %s", m.NotBefore.UTC().Format(time.RFC3339))
	}
	return nil
}

// mayIssue reports whether the extended key usages of an authority allow one. An authority
// without any may issue all.
func mayIssue(cert *x509.Certificate, usage x509.ExtKeyUsage) bool {
	return len(cert.ExtKeyUsage)+len(cert.UnknownExtKeyUsage) == 0 ||
		slices.Contains(cert.ExtKeyUsage, usage) || slices.Contains(cert.ExtKeyUsage, x509.ExtKeyUsageAny)
}

func selfSigned(cert *x509.Certificate) bool {
	return bytes.Equal(cert.RawSubject, cert.RawIssuer) && cert.CheckSignatureFrom(cert) == nil
}

// leadsToRoot reports whether certificates of a list lead from one to a self-signed one.
func leadsToRoot(cert *x509.Certificate, list []*x509.Certificate) bool {
	for range list { // a chain is no longer than the list
		if selfSigned(cert) {
			return true
		}
		i := slices.IndexFunc(list, func(above *x509.Certificate) bool { return cert.CheckSignatureFrom(above) == nil })
		if i < 0 {
			return false
		}
		cert = list[i]
	}
	return selfSigned(cert)
}

func signsAny(cert *x509.Certificate, below []*x509.Certificate) bool {
	return slices.ContainsFunc(below, func(c *x509.Certificate) bool { return c.CheckSignatureFrom(cert) == nil })
}
