package images

import (
	"fmt"
	"io/fs"

	"github.com/google/renameio/v2"
)

// fingerprintSuffix is the suffix of the file that records the fingerprint of a blob when
// its digest was last verified. Hashing a gigabyte before each run would cost
// seconds.
const fingerprintSuffix = ".checked"

// fingerprint returns the fingerprint of a file, which changes with every write.
func fingerprint(info fs.FileInfo) string {
	return fmt.Sprintf("%d %d\n", info.Size(), info.ModTime().UnixNano())
}

func (s *Store) hasFingerprint(name string, info fs.FileInfo) bool {
	content, err := s.root.ReadFile(name + fingerprintSuffix)
	return err == nil && string(content) == fingerprint(info)
}

// recordFingerprint records that the content had its digest when the file was as in info.
func (s *Store) recordFingerprint(name string, info fs.FileInfo) error {
	return renameio.WriteFile(name+fingerprintSuffix, []byte(fingerprint(info)), 0o644, renameio.WithRoot(s.root))
}
