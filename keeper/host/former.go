package host

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"syscall"

	"deployer/tasks/hostfile"
)

// former is a file before its change.
type former struct {
	path    string
	info    fs.FileInfo // nil: it did not exist
	content []byte      // of a plain file
	target  string      // of a link
}

// Backup remembers a file, the first time that it is called for it.
func (s *System) Backup(path string) error {
	if slices.ContainsFunc(s.former, func(f former) bool { return f.path == path }) {
		return nil
	}
	f := former{path: path}
	info, err := hostfile.Lstat(s, path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	case err != nil:
	case info.Mode()&fs.ModeSymlink != 0:
		f.info = info
		f.target, err = os.Readlink(s.Path(path))
	case info.Mode().IsRegular():
		f.info = info
		f.content, err = hostfile.ReadFile(s, path)
	default:
		return nil // a directory that is made stays
	}
	if err == nil {
		s.former = append(s.former, f)
	}
	return err
}

// PutBack restores the files that have changed, the last one first.
func (s *System) PutBack() error {
	var errs []error
	for _, f := range slices.Backward(s.former) {
		if err := s.restore(f); err != nil {
			errs = append(errs, fmt.Errorf("restoring %s: %w", f.path, err))
		}
	}
	s.former = nil
	return errors.Join(errs...)
}

func (s *System) restore(f former) error {
	if f.info != nil && f.target == "" {
		owner := f.info.Sys().(*syscall.Stat_t) //nolint:forcetypeassert // deployer runs on Linux
		access := hostfile.Access{
			Mode:  fmt.Sprintf("%04o", f.info.Mode().Perm()),
			Owner: strconv.Itoa(int(owner.Uid)), Group: strconv.Itoa(int(owner.Gid)),
		}
		return hostfile.Write(s, f.path, bytes.NewReader(f.content), access)
	}
	dir, name, err := hostfile.Parent(s, f.path)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.RemoveAll(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if f.info == nil {
		return nil
	}
	return dir.Symlink(f.target, name)
}

// Changed reports whether a file has changed since the last PutBack.
func (s *System) Changed() bool { return len(s.former) > 0 }
