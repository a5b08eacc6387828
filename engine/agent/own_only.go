package agent

import (
	"os"

	"github.com/google/renameio/v2"
)

// restrictToOwner takes all rights on a file from others than its owner. A file that was
// there before may have had more.
func restrictToOwner(f *os.File) error {
	info, err := f.Stat()
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return err
	}
	return f.Chmod(info.Mode().Perm() &^ 0o077)
}

// makePrivateDirectory makes a directory that only its owner can look into, or takes the
// rights of others away from the one that is there.
func makePrivateDirectory(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return err
	}
	return os.Chmod(dir, info.Mode().Perm()&^0o077)
}

// writePrivateFile replaces a file by one that only its owner can read, as a whole, on the
// disk when it returns. renameio.WriteFile would give it the rights of the file that
// is there.
func writePrivateFile(path string, content []byte) error {
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
