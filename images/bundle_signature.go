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

// readSigned calls read with the content of a bundle and verifies the signature of the same
// bytes with a minisign public key. path is the name of the file, for its signature and for
// errors. What read has returned counts only when readSigned returns no error.
func readSigned(file io.Reader, path, publicKey string, read func(io.Reader) error) error {
	key, err := minisign.PublicKeyFromFile(publicKey)
	if err != nil {
		return fmt.Errorf("public key %s: %w", publicKey, err)
	}
	signature, err := readSignature(path + SignatureSuffix)
	if err != nil {
		return fmt.Errorf("%w: %w; sign the bundle with: minisign -Sm %s", ErrSignature, err, path)
	}
	signed := minisign.NewReader(file)
	problem := read(onlyReader{signed})
	if _, err := io.Copy(io.Discard, signed); err != nil {
		return err
	}
	if !signed.Verify(key, signature) {
		return fmt.Errorf("%w by key %s in %s", ErrSignature, key, path+SignatureSuffix)
	}
	return problem
}

// onlyReader hides other methods: package tar must not skip bytes of a signed file.
type onlyReader struct{ io.Reader }

// readSignature reads the file of a signature, which has a few hundred bytes.
func readSignature(path string) ([]byte, error) {
	const limit = 64 << 10
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && len(content) > limit {
		err = fmt.Errorf("%s has more than %d KiB and is no signature of minisign", path, limit>>10)
	}
	return content, err
}
