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

// Bounds of RSA keys in bits. 2048 is what NIST SP 800-57 allows; a signature of a
// key of 4096 bits takes a hundredth of a second to make.
const (
	leastRSA = 2048
	mostRSA  = 4096
)

// usableKey refuses public keys that are weak, and those with which it takes long
// to calculate.
func usableKey(key crypto.PublicKey) error {
	switch key := key.(type) {
	case *ecdsa.PublicKey:
		if key.Curve != elliptic.P256() && key.Curve != elliptic.P384() {
			return fmt.Errorf("its key is on the curve %s: use P-256, P-384, Ed25519, or RSA with %d to %d bits", key.Curve.Params().Name, leastRSA, mostRSA)
		}
	case ed25519.PublicKey:
	case *rsa.PublicKey:
		if bits := key.N.BitLen(); bits < leastRSA || bits > mostRSA {
			return fmt.Errorf("its RSA key has %d bits: use %d to %d", bits, leastRSA, mostRSA)
		}
		if key.E < 3 || key.E > 1<<31-1 {
			return errors.New("its RSA key has an odd exponent: use 65537")
		}
	default:
		return fmt.Errorf("its key is of the type %T: use P-256, P-384, Ed25519, or RSA with %d to %d bits", key, leastRSA, mostRSA)
	}
	return nil
}

// maxKeyPEM and maxCertPEM bound what is read of a private key and of a certificate,
// in bytes: an RSA key of 4096 bits has 3300, and to take a longer one apart takes
// ever longer.
const (
	maxKeyPEM  = 16 << 10
	maxCertPEM = 64 << 10
)
