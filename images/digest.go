package images

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
)

// isDigest reports whether sha is 64 lower-case hex digits, and so safe as a file
// name.
func isDigest(sha string) bool {
	raw, err := hex.DecodeString(sha)
	return err == nil && len(raw) == sha256.Size && hex.EncodeToString(raw) == sha
}

// checkDigest returns an error for an invalid digest of an artifact.
func checkDigest(ref Ref, sha string) error {
	if !isDigest(sha) {
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
	digest, size, err = hashOf(file)
	if err != nil {
		return "", 0, fmt.Errorf("hashing %s: %w", path, err)
	}
	return digest, size, nil
}

func hashOf(content io.Reader) (digest string, size int64, err error) {
	sum := sha256.New()
	if size, err = io.Copy(sum, content); err != nil {
		return "", 0, err
	}
	return hex.EncodeToString(sum.Sum(nil)), size, nil
}

// hexSum returns the SHA-256 of content in hex.
func hexSum(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
