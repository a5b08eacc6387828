package images

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
)

// checkDigest makes sure that sha is 64 lower-case hex digits: it becomes a
// file name.
func checkDigest(ref Ref, sha string) error {
	raw, err := hex.DecodeString(sha)
	if err != nil || len(raw) != sha256.Size || hex.EncodeToString(raw) != sha {
		return fmt.Errorf("%s: %q is not a SHA-256 in lower-case hex", ref, sha)
	}
	return nil
}

// HashFile returns the SHA-256 in hex and the size in bytes of the file at path.
func HashFile(path string) (digest string, size int64, err error) {
	file, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer file.Close()
	sum := sha256.New()
	size, err = io.Copy(sum, file)
	if err != nil {
		return "", 0, fmt.Errorf("hashing %s: %w", path, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), size, nil
}
