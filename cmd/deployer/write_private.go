package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// writePrivate writes a file with mode 0600; see writePrivateWith.
func writePrivate(path string, content []byte) error {
	return writePrivateWith(path, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// writePrivateWith writes a file with mode 0600, whose content write gives. writePrivateWith replaces an
// existing file by a new one, when all is written, so that a process which has the old file
// open cannot read the content. writePrivateWith follows links, and writes to files that are not regular,
// such as pipes.
func writePrivateWith(path string, write func(io.Writer) error) error {
	real, err := filepath.EvalSymlinks(path)
	switch {
	case err == nil:
		path = real
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	// renameio.WriteFile would take over the mode of an existing file.
	f, err := renameio.NewPendingFile(path, renameio.WithStaticPermissions(0o600))
	if err != nil {
		return err
	}
	defer f.Cleanup()
	if err := write(f); err != nil {
		return err
	}
	return f.CloseAtomicallyReplace()
}
