package statedir

import (
	"os"

	"github.com/google/renameio/v2"
)

// RestrictToOwner removes the permissions of group and others from a file, which may
// have existed before with more.
func RestrictToOwner(f *os.File) error {
	info, err := f.Stat()
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return err
	}
	return f.Chmod(info.Mode().Perm() &^ 0o077)
}

// MakePrivateDirectory creates a directory with mode 0700, and removes the
// permissions of group and others from one that exists.
func MakePrivateDirectory(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return err
	}
	return os.Chmod(dir, info.Mode().Perm()&^0o077)
}

// WritePrivateFile replaces a file atomically by one with mode 0600; the content is
// on the disk when it returns. renameio.WriteFile would keep the mode of the old
// file.
func WritePrivateFile(path string, content []byte) error {
	f, err := renameio.NewPendingFile(path, renameio.WithStaticPermissions(0o600))
	if err != nil {
		return err
	}
	defer func() { _ = f.Cleanup() }()
	if _, err := f.Write(content); err != nil {
		return err
	}
	return f.CloseAtomicallyReplace()
}
