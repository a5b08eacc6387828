package certificate

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"time"

	"deployer/certnames"
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
	if difference := certnames.FromCertificate(cert).Difference(w.names()); difference != "" {
		return fault{stateNames, difference}
	}
	return fault{}
}

func (w Want) names() certnames.Names {
	return certnames.Names{CommonName: w.CN, Organizations: w.Orgs, DNS: w.DNS, IPs: w.IPs, Usages: w.Usages}
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

func samePublic(cert *x509.Certificate, key crypto.Signer) bool {
	have, err := x509.MarshalPKIXPublicKey(key.Public())
	return err == nil && bytes.Equal(have, cert.RawSubjectPublicKeyInfo)
}
