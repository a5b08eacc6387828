package keyring

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"errors"
	"fmt"
)

// The accepted sizes of RSA keys in bits. 2048 is the minimum of NIST SP 800-57; a
// signature with a key of 4096 bits takes about 10 ms.
const (
	minRSABits = 2048
	maxRSABits = 4096
)

// usableKey fails for public keys that are weak, and for keys whose size makes
// signatures slow.
func usableKey(key crypto.PublicKey) error {
	switch key := key.(type) {
	case *ecdsa.PublicKey:
		if key.Curve != elliptic.P256() && key.Curve != elliptic.P384() {
			return fmt.Errorf("its key is on the curve %s: use P-256, P-384, Ed25519, or RSA with %d to %d bits", key.Curve.Params().Name, minRSABits, maxRSABits)
		}
	case ed25519.PublicKey:
	case *rsa.PublicKey:
		if bits := key.N.BitLen(); bits < minRSABits || bits > maxRSABits {
			return fmt.Errorf("its RSA key has %d bits: use %d to %d", bits, minRSABits, maxRSABits)
		}
		if key.E < 3 || key.E > 1<<31-1 {
			return errors.New("the exponent of its RSA key is out of range: use 65537")
		}
	default:
		return fmt.Errorf("its key is of the type %T: use P-256, P-384, Ed25519, or RSA with %d to %d bits", key, minRSABits, maxRSABits)
	}
	return nil
}

// maxKeyPEM and maxCertPEM are the maximum sizes of a private key and of a certificate
// in bytes. An RSA key of 4096 bits has 3300 bytes; the time for parsing grows faster
// than the size.
const (
	maxKeyPEM  = 16 << 10
	maxCertPEM = 64 << 10
)
