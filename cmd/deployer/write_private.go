package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// writePrivate writes a file with mode 0600. It replaces an existing file by a new one,
// so that a process which has the old file open cannot read the content. It follows
// links, and writes to files that are not regular, such as pipes.
func writePrivate(path string, content []byte) error {
	real, err := filepath.EvalSymlinks(path)
	switch {
	case err == nil:
		path = real
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return os.WriteFile(path, content, 0o600)
	}
	// renameio.WriteFile would take over the mode of an existing file.
	f, err := renameio.NewPendingFile(path, renameio.WithStaticPermissions(0o600))
	if err != nil {
		return err
	}
	defer f.Cleanup()
	if _, err := f.Write(content); err != nil {
		return err
	}
	return f.CloseAtomicallyReplace()
}
