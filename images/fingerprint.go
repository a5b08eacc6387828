package images

import (
	"fmt"
	"io/fs"

	"github.com/google/renameio/v2"
)

// stampSuffix names the file that remembers how a blob looked when its digest
// was last checked. Hashing a gigabyte before each run would cost seconds.
const stampSuffix = ".checked"

// appearance changes whenever a file is written to.
func appearance(info fs.FileInfo) string {
	return fmt.Sprintf("%d %d\n", info.Size(), info.ModTime().UnixNano())
}

func (s *Store) stamped(name string, info fs.FileInfo) bool {
	content, err := s.root.ReadFile(name + stampSuffix)
	return err == nil && string(content) == appearance(info)
}

// stamp remembers that content had its digest when the file looked like info.
func (s *Store) stamp(name string, info fs.FileInfo) error {
	return renameio.WriteFile(name+stampSuffix, []byte(appearance(info)), 0o644, renameio.WithRoot(s.root))
}
