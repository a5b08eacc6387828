package keyring

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// newAccountKey creates the key that signs service-account tokens. The API server
// accepts ECDSA keys and signs with ES256.
func newAccountKey() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("creating the service-account key: %w", err)
	}
	return encodeKey(key)
}

// accountPublic returns the content of sa.pub. During a rotation the file holds further
// public keys; it is kept then, and must hold the current one.
func accountPublic(keyPEM, pubPEM []byte) ([]byte, error) {
	key, err := decodeKey(keyPEM)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", AccountKey, err)
	}
	want, err := publicPEM(key)
	if err != nil {
		return nil, err
	}
	if pubPEM == nil {
		return want, nil
	}
	wanted, _ := pem.Decode(want)
	for block, rest := pem.Decode(pubPEM); block != nil; block, rest = pem.Decode(rest) {
		if bytes.Equal(block.Bytes, wanted.Bytes) {
			return pubPEM, nil
		}
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil && samePublic(cert.PublicKey, key.Public()) {
			return pubPEM, nil
		}
	}
	return nil, errors.New(AccountPub + " does not hold the public half of " + AccountKey + "; remove it from every master and it is written again")
}
