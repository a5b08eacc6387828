package keyring

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
)

// The types of PEM blocks in keyring files and requests.
const (
	certBlock   = "CERTIFICATE"
	requestType = "CERTIFICATE REQUEST"
	publicBlock = "PUBLIC KEY"
	pkcs8Block  = "PRIVATE KEY"
	ecBlock     = "EC PRIVATE KEY"
	rsaBlock    = "RSA PRIVATE KEY"
)

func encodeCert(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: certBlock, Bytes: der})
}

func encodeKey(key crypto.Signer) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: pkcs8Block, Bytes: der}), nil
}

// decodeKey returns the first private key of a file, in PKCS#8, SEC 1 or PKCS#1, the
// forms of openssl, kubeadm and this package. Other blocks before it, such as EC
// parameters, are skipped.
func decodeKey(data []byte) (crypto.Signer, error) {
	if len(data) > maxKeyPEM {
		return nil, fmt.Errorf("the private key has %d bytes, more than the limit of %d", len(data), maxKeyPEM)
	}
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		switch block.Type {
		case pkcs8Block:
			key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
			if err != nil {
				return nil, err
			}
			signer, ok := key.(crypto.Signer)
			if !ok {
				return nil, fmt.Errorf("a key of type %T cannot sign", key)
			}
			return signer, nil
		case ecBlock:
			return x509.ParseECPrivateKey(block.Bytes)
		case rsaBlock:
			return x509.ParsePKCS1PrivateKey(block.Bytes)
		}
	}
	return nil, errors.New("the file contains no private key in PEM form")
}

// decodeCert returns the first certificate of a file.
func decodeCert(data []byte) (*x509.Certificate, error) {
	certs, err := ParseCertificates(data)
	if err != nil {
		return nil, err
	}
	return certs[0], nil
}

// ParseCertificates returns the certificates of a file, at least one, each once.
func ParseCertificates(data []byte) ([]*x509.Certificate, error) {
	if len(data) > maxCertPEM {
		return nil, fmt.Errorf("the certificate has %d bytes, more than the limit of %d", len(data), maxCertPEM)
	}
	var certs []*x509.Certificate
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != certBlock {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(certs, cert.Equal) {
			certs = append(certs, cert)
		}
	}
	if len(certs) == 0 {
		return nil, errors.New("the file contains no certificate in PEM form")
	}
	return certs, nil
}

// EncodeCertificates returns a file with certificates.
func EncodeCertificates(certs []*x509.Certificate) []byte {
	var out []byte
	for _, c := range certs {
		out = append(out, encodeCert(c.Raw)...)
	}
	return out
}

// publicPEM encodes the public key of a private key.
func publicPEM(key crypto.Signer) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, fmt.Errorf("encoding a public key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: publicBlock, Bytes: der}), nil
}

// samePublic reports whether two public keys are the same.
func samePublic(a, b crypto.PublicKey) bool {
	k, ok := a.(interface{ Equal(crypto.PublicKey) bool })
	return ok && k.Equal(b)
}
