package images

import (
	"errors"
	"fmt"
	"io"
	"os"

	"aead.dev/minisign"
)

// ErrSignature says that a bundle is not signed by the wanted key.
var ErrSignature = errors.New("no valid signature")

// SignatureSuffix is what minisign puts behind the name of the signed file.
const SignatureSuffix = ".minisig"

// verifySignature verifies the whole file at path with a minisign public key.
func verifySignature(path, publicKey string) error {
	key, err := minisign.PublicKeyFromFile(publicKey)
	if err != nil {
		return fmt.Errorf("public key %s: %w", publicKey, err)
	}
	signature, err := os.ReadFile(path + SignatureSuffix)
	if err != nil {
		return fmt.Errorf("%w: %w; sign the bundle with: minisign -Sm %s", ErrSignature, err, path)
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	signed := minisign.NewReader(file)
	if _, err := io.Copy(io.Discard, signed); err != nil {
		return err
	}
	if !signed.Verify(key, signature) {
		return fmt.Errorf("%w by key %s in %s", ErrSignature, key, path+SignatureSuffix)
	}
	return nil
}
