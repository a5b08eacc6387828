package images

import (
	"fmt"
	"io/fs"
	"os"

	"github.com/google/renameio/v2"
)

// stampSuffix names the file that remembers how a blob looked when its digest
// was last checked. Hashing a gigabyte before each run would cost seconds.
const stampSuffix = ".checked"

// appearance changes whenever a file is written to.
func appearance(info fs.FileInfo) string {
	return fmt.Sprintf("%d %d\n", info.Size(), info.ModTime().UnixNano())
}

func (s *Store) stamped(path string, info fs.FileInfo) bool {
	content, err := os.ReadFile(path + stampSuffix)
	return err == nil && string(content) == appearance(info)
}

func (s *Store) stamp(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return renameio.WriteFile(path+stampSuffix, []byte(appearance(info)), 0o644, renameio.WithTempDir(s.partialPath("")))
}
