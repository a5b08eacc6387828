package hostfile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"deployer/engine"
)

// OpenPartial opens a partial file beside the host's path final, with the same name
// for the same key, so that a later attempt can continue it. A file that another
// user may write to is removed and created again: its content could be exchanged
// after it was verified. A file that was not written to for an hour is removed with
// other leftovers.
func OpenPartial(sys engine.System, final, key string) (*Temp, error) {
	t, err := createTemp(sys, final)
	if err != nil {
		return nil, err
	}
	t.temp = "." + t.base + tempMark + "part-" + key
	return t.opened(t.openPartial())
}

// partialTries is the maximum number of attempts for a name that another process
// creates and removes meanwhile.
const partialTries = 5

func (t *Temp) openPartial() (err error) {
	for range partialTries {
		t.File, err = t.dir.OpenFile(t.temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		if t.File, err = t.dir.OpenFile(t.temp, os.O_RDWR|syscall.O_NONBLOCK, 0); err == nil {
			if restrictToOwner(t.File) {
				return nil
			}
			_ = t.File.Close()
		}
		if err = t.dir.Remove(t.temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return errors.Join(err, errors.New(t.temp+" is made again and again by somebody else; remove it"))
}

// restrictToOwner reports whether an open file is a regular file of this user, has
// one name, and is not writable for others.
func restrictToOwner(f *os.File) bool {
	info, err := f.Stat()
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode().IsRegular() && int(stat.Uid) == os.Geteuid() && stat.Nlink == 1 && info.Mode().Perm()&0o022 == 0
}
