package images

import (
	"fmt"
	"io/fs"

	"github.com/google/renameio/v2"
)

// stampSuffix is the suffix of the file that records the fingerprint of a blob when
// its digest was last verified. Hashing a gigabyte before each run would cost
// seconds.
const stampSuffix = ".checked"

// appearance returns the fingerprint of a file, which changes with every write.
func appearance(info fs.FileInfo) string {
	return fmt.Sprintf("%d %d\n", info.Size(), info.ModTime().UnixNano())
}

func (s *Store) stamped(name string, info fs.FileInfo) bool {
	content, err := s.root.ReadFile(name + stampSuffix)
	return err == nil && string(content) == appearance(info)
}

// recordFingerprint records that the content had its digest when the file was as in info.
func (s *Store) recordFingerprint(name string, info fs.FileInfo) error {
	return renameio.WriteFile(name+stampSuffix, []byte(appearance(info)), 0o644, renameio.WithRoot(s.root))
}
