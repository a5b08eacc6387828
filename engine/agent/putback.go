package agent

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"deployer/engine"
)

// putBack makes a path of this machine what it was; was is nil when there was
// nothing, data the path of a regular file's content. Its time of modification
// is the present one: what has read the file has to read it again.
func putBack(path string, was *File, data string) error {
	now, err := os.Lstat(path)
	if err != nil && !isMissing(err) {
		return err
	}
	if was == nil {
		return remove(path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if now != nil && now.IsDir() != was.Mode.IsDir() {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	switch {
	case was.Mode.IsDir():
		if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		return was.dress(path)
	case was.Mode&fs.ModeSymlink != 0:
		return replace(path, func(temp string) error {
			return errors.Join(os.Symlink(was.Link, temp), was.dress(temp))
		})
	}
	return replace(path, func(temp string) error {
		if err := copySynced(data, temp, os.O_EXCL); err != nil {
			return err
		}
		return was.dress(temp)
	})
}

// remove removes what a run has made. A directory in which there is something
// else by now stays.
func remove(path string) error {
	err := os.Remove(path)
	switch {
	case isMissing(err):
		return nil
	case errors.Is(err, syscall.ENOTEMPTY):
		return &engine.Stays{Why: "there is something in it"}
	case err != nil:
		return err
	}
	return syncDir(filepath.Dir(path))
}

// replace has make write a temporary file and gives it the name of path. The
// temporary name is that of the modules', who clear up after those that died.
func replace(path string, fill func(temp string) error) error {
	dir, base := filepath.Split(path)
	temp := filepath.Join(dir, fmt.Sprintf(".%s.deployer-%d-revert", base, os.Getpid()))
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := fill(temp)
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(temp))
	}
	return syncDir(dir)
}

// copySynced copies to a new file, with copy_file_range, which Go uses for two
// files; file systems that can share the blocks do. The copy is on the disk when
// it returns. existing says what becomes of a file that is there: os.O_EXCL or
// os.O_TRUNC.
func copySynced(from, to string, existing int) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|existing, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}

// dress gives a path owner, mode and attributes; the owner first, because a
// change of owner clears the setuid bits and capabilities.
func (f *File) dress(path string) error {
	if err := os.Lchown(path, f.UID, f.GID); err != nil {
		return err
	}
	if f.Mode&fs.ModeSymlink == 0 {
		if err := os.Chmod(path, f.Mode); err != nil {
			return err
		}
	}
	for name, value := range f.Attributes {
		if err := unix.Lsetxattr(path, name, value, 0); err != nil && !errors.Is(err, unix.ENOTSUP) {
			return fmt.Errorf("attribute %s: %w", name, err)
		}
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	return d.Sync()
}
