package undo

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
	"deployer/engine/hostpath"
)

// restoreFile restores a path of the host: was describes the file, nil when there
// was none, and data is the path of the backup of a regular file. The time of
// modification becomes the present, so that programs read the file again.
func restoreFile(root, path string, was *File, data string) error {
	dir, base, err := hostpath.Parent(root, path)
	if isMissing(err) && was == nil {
		return nil
	}
	if isMissing(err) {
		dir, err = hostpath.MakeDir(root, filepath.Dir(path))
		base = filepath.Base(path)
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	if was == nil {
		return removeCreated(dir, base)
	}
	now, err := dir.Lstat(base)
	if err != nil && !isMissing(err) {
		return err
	}
	if now != nil && now.IsDir() != was.Mode.IsDir() {
		if err := dir.Remove(base); err != nil {
			return err
		}
	}
	switch {
	case was.Mode.IsDir():
		n, err := dir.OpenOrMkdir(base, 0o700)
		if err != nil {
			return err
		}
		defer n.Close()
		return was.applyAttributes(n)
	case was.Mode&fs.ModeSymlink != 0:
		return replaceAtomically(dir, base, func(temp string) error {
			if err := dir.Symlink(was.Link, temp); err != nil {
				return err
			}
			return was.applyAttributesToLink(dir, temp)
		})
	}
	return replaceAtomically(dir, base, func(temp string) error { return was.writeContent(dir, temp, data) })
}

// removeCreated removes a file or directory that the run created. A directory that
// is not empty stays: the error is an *engine.IrreversibleError.
func removeCreated(dir *hostpath.Dir, name string) error {
	err := dir.Remove(name)
	switch {
	case isMissing(err):
		return nil
	case errors.Is(err, syscall.ENOTEMPTY):
		return &engine.IrreversibleError{Reason: "the directory is not empty"}
	case err != nil:
		return err
	}
	return dir.Sync()
}

// replaceAtomically has fill write a temporary file and renames it. Modules use the
// same pattern of temporary names, and remove those that a dead process left.
func replaceAtomically(dir *hostpath.Dir, name string, fill func(temp string) error) error {
	temp := fmt.Sprintf(".%s.deployer-%d-revert", name, os.Getpid())
	if err := dir.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := fill(temp)
	if err == nil {
		err = dir.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, dir.RemoveAll(temp))
	}
	return dir.Sync()
}

// writeContent writes a regular file with the content of the backup at data.
func (f *File) writeContent(dir *hostpath.Dir, name, data string) error {
	in, err := os.Open(data)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = copySynced(out, in)
	if err == nil {
		err = f.applyAttributes(hostpath.NodeOf(out))
	}
	return errors.Join(err, out.Close())
}

// copySynced copies with copy_file_range, which Go uses between two files and which
// shares blocks where the file system can. The copy is on the disk when it returns.
func copySynced(out, in *os.File) error {
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Sync()
}

// applyAttributesToLink is applyAttributes for a link of a directory. Anything else that
// another user has put in its place is an error.
func (f *File) applyAttributesToLink(dir *hostpath.Dir, name string) error {
	n, err := dir.Open(name)
	if err != nil {
		return err
	}
	defer n.Close()
	info, err := n.Stat()
	if err == nil && info.Mode()&fs.ModeSymlink == 0 {
		err = fmt.Errorf("%s has become %s: its owner is not set", n.Path, hostpath.Describe(info))
	}
	if err != nil {
		return err
	}
	return f.applyAttributes(n)
}

// applyAttributes sets owner, mode and extended attributes; the owner first, because
// a change of owner clears setuid bits and capabilities.
func (f *File) applyAttributes(n *hostpath.Node) error {
	if err := n.Chown(f.UID, f.GID); err != nil {
		return err
	}
	if f.Mode&fs.ModeSymlink == 0 {
		if err := n.Chmod(f.Mode); err != nil {
			return err
		}
	}
	for name, value := range f.Attributes {
		if err := unix.Setxattr(n.Real(), name, value, 0); err != nil && !errors.Is(err, unix.ENOTSUP) {
			return fmt.Errorf("setting attribute %s: %w", name, err)
		}
	}
	return nil
}
