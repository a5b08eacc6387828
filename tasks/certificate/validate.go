package certificate

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// parseCertificates reads all certificates of a PEM file.
func parseCertificates(data []byte) ([]*x509.Certificate, error) {
	var out []*x509.Certificate
	for {
		var block *pem.Block
		block, data = pem.Decode(data)
		if block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		out = append(out, cert)
	}
	if len(out) == 0 {
		return nil, errors.New("no certificate in it")
	}
	return out, nil
}

// parseKey reads a private key in any of the forms that Kubernetes accepts. Certificates
// before it in the file are skipped.
func parseKey(data []byte) (crypto.Signer, error) {
	block, rest := pem.Decode(data)
	for block != nil && block.Type == "CERTIFICATE" {
		block, rest = pem.Decode(rest)
	}
	if block == nil {
		return nil, errors.New("no private key in it")
	}
	if key, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("it is not a private key that can be read")
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, errors.New("it cannot sign")
	}
	return signer, nil
}

// validate returns the fault of a certificate that is not the wanted one. key is the
// private key at keyPath.
func (w Want) validate(certPEM, caPEM []byte, key crypto.Signer, keyPath string, now time.Time) fault {
	certs, err := parseCertificates(certPEM)
	if err != nil {
		return faultf(stateDamaged, "it cannot be read: %v", err)
	}
	cert := certs[0]
	authorities, err := parseCertificates(caPEM)
	if err != nil {
		return faultf(stateAuthority, "its authority %s cannot be read: %v", w.CAPath, err)
	}
	switch {
	case !samePublic(cert, key):
		return faultf(stateDamaged, "it does not belong to the key %s", keyPath)
	case cert.CheckSignatureFrom(authorities[0]) != nil:
		return faultf(stateAuthority, "it is not signed by %s", w.CAPath)
	case now.After(cert.NotAfter):
		return faultf(stateExpired, "it expired on %s", day(cert.NotAfter))
	case now.Add(w.RenewBefore).After(cert.NotAfter):
		return faultf(stateExpiring, "it expires on %s", day(cert.NotAfter))
	case now.Before(cert.NotBefore):
		return faultf(stateNotYet, "it is valid only from %s: is the clock right?", cert.NotBefore.Format(time.RFC3339))
	case cert.NotBefore.UTC().Format(time.RFC3339) < w.IssuedBefore:
		return faultf(stateOutdated, "it was issued on %s", day(cert.NotBefore))
	}
	if why := w.validateNames(cert); why != "" {
		return fault{stateNames, why}
	}
	return fault{}
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

func samePublic(cert *x509.Certificate, key crypto.Signer) bool {
	have, err := x509.MarshalPKIXPublicKey(key.Public())
	return err == nil && bytes.Equal(have, cert.RawSubjectPublicKeyInfo)
}

func (w Want) validateNames(cert *x509.Certificate) string {
	var ips, wantIPs []string
	for _, ip := range cert.IPAddresses {
		if a, ok := netip.AddrFromSlice(ip); ok {
			ips = append(ips, a.Unmap().String())
		}
	}
	for _, ip := range w.IPs {
		if a, err := netip.ParseAddr(ip); err == nil {
			wantIPs = append(wantIPs, a.Unmap().String())
		}
	}
	switch {
	case cert.Subject.CommonName != w.CN:
		return fmt.Sprintf("it names %q, not %q", cert.Subject.CommonName, w.CN)
	case !sameSet(cert.Subject.Organization, w.Orgs):
		return different("organizations", cert.Subject.Organization, w.Orgs)
	case !sameSet(cert.DNSNames, w.DNS):
		return different("DNS names", cert.DNSNames, w.DNS)
	case !sameSet(ips, wantIPs):
		return different("addresses", ips, wantIPs)
	case !sameSet(usages(cert), w.Usages):
		return different("usages", usages(cert), w.Usages)
	}
	return ""
}

func usages(cert *x509.Certificate) []string {
	var out []string
	for _, u := range cert.ExtKeyUsage {
		switch u {
		case x509.ExtKeyUsageServerAuth:
			out = append(out, "server")
		case x509.ExtKeyUsageClientAuth:
			out = append(out, "client")
		default:
			out = append(out, fmt.Sprintf("usage %d", u))
		}
	}
	return out
}

func sameSet(a, b []string) bool { return slices.Equal(set(a), set(b)) }

func set(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }

func different(what string, have, want []string) string {
	return fmt.Sprintf("its %s are [%s], want [%s]", what, strings.Join(set(have), " "), strings.Join(set(want), " "))
}
