package keyring

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"
)

// forged returns a request with an invented RSA key and an invalid signature.
func forged(t *testing.T, bits uint, exponent int) []byte {
	t.Helper()
	n := new(big.Int).SetBit(big.NewInt(1), int(bits)-1, 1)
	public, err := x509.MarshalPKIXPublicKey(&rsa.PublicKey{N: n, E: exponent})
	if err != nil {
		t.Fatal(err)
	}
	subject, err := asn1.Marshal(pkix.Name{CommonName: "x"}.ToRDNSequence())
	if err != nil {
		t.Fatal(err)
	}
	type info struct {
		Version    int
		Subject    asn1.RawValue
		Key        asn1.RawValue
		Attributes []asn1.RawValue `asn1:"tag:0"`
	}
	der, err := asn1.Marshal(struct {
		Info      info
		Algorithm pkix.AlgorithmIdentifier
		Signature asn1.BitString
	}{
		info{Subject: asn1.RawValue{FullBytes: subject}, Key: asn1.RawValue{FullBytes: public}},
		pkix.AlgorithmIdentifier{Algorithm: asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 11}, Parameters: asn1.NullRawValue},
		asn1.BitString{Bytes: n.Bytes()[:bits/8], BitLength: int(bits)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: requestType, Bytes: der})
}

// TestHugeKeysAreRejectedWithoutVerification: a request with a key that is too large
// is rejected before its signature is verified.
func TestHugeKeysAreRejectedWithoutVerification(t *testing.T) {
	for bits, want := range map[uint]string{
		1024: "1024 bits", 4104: "4104 bits", 65536: "65536 bits", 1 << 20: "1048576 bits",
	} {
		began := time.Now()
		_, err := requestKey(forged(t, bits, 1<<31-1))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d bits: %v", bits, err)
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("%d bits took %v", bits, took)
		}
	}
}

func TestKeyTypesAndSizesOfRequests(t *testing.T) {
	request := func(key crypto.Signer, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
		if err != nil {
			t.Fatal(err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: requestType, Bytes: der})
	}
	onCurve := func(c elliptic.Curve) []byte { return request(ecdsa.GenerateKey(c, rand.Reader)) }
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	for name, tt := range map[string]struct {
		request []byte
		want    string // empty for a key that is signed
	}{
		"P-256":    {onCurve(elliptic.P256()), ""},
		"P-384":    {onCurve(elliptic.P384()), ""},
		"P-224":    {onCurve(elliptic.P224()), "P-224"},
		"P-521":    {onCurve(elliptic.P521()), "P-521"},
		"Ed25519":  {request(edwards, err), ""},
		"RSA 2048": {request(rsa.GenerateKey(rand.Reader, 2048)), ""},
		"exponent": {forged(t, 2048, 1), "exponent"},
	} {
		key, err := requestKey(tt.request)
		if (err == nil) != (tt.want == "") || (key == nil) == (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %T, %v", name, key, err)
		}
	}
}
