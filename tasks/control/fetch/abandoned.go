package fetch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
)

// tempMark is between the name of a file and the process ID in the name of its temporary file.
const tempMark = ".deployer-"

var tempName = regexp.MustCompile(`^\..+\.deployer-[0-9]+$`)

// removeAbandoned removes the temporary files that killed processes have left in a directory.
// A process that writes one holds its lock. Files of other names, and links, stay.
func removeAbandoned(root *os.Root, dir string) error {
	entries, err := fs.ReadDir(root.FS(), dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !tempName.MatchString(e.Name()) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		f, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
		if err != nil {
			continue // of another user, or gone meanwhile
		}
		free := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
		if free {
			err = root.Remove(path)
		}
		if err := errors.Join(err, f.Close()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
