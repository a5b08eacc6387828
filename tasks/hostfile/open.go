package hostfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"deployer/engine"
	"deployer/engine/hostpath"
)

// root returns the directory that is the root of the host.
func root(sys engine.System) string { return sys.Path("/") }

// Lstat describes the file at the host's path; it does not follow a link at the end. Links on
// the way are followed by the rule of package hostpath.
func Lstat(sys engine.System, path string) (fs.FileInfo, error) {
	return hostpath.Lstat(root(sys), path)
}

// Stat is Lstat that follows a link at the end too, by the same rule.
func Stat(sys engine.System, path string) (fs.FileInfo, error) {
	n, err := hostpath.Follow(root(sys), path)
	if err != nil {
		return nil, err
	}
	defer n.Close()
	return n.Stat()
}

// Open opens the regular file at the host's path for reading. A link at its end
// is followed by the rule for those on the way, so that a link of a user does not lead
// to a file of root.
func Open(sys engine.System, path string) (*os.File, error) {
	n, err := hostpath.Follow(root(sys), path)
	if err != nil {
		return nil, err
	}
	defer n.Close()
	return n.File()
}

// maxRead is the maximum number of bytes of a file that is read as a whole: far above any
// file that modules compare or edit, and little enough that a sparse file of a user does not
// exhaust the memory of the agent.
const maxRead = 64 << 20

// ReadFile reads the whole file at the host's path, which Open opens. A file of more than
// maxRead bytes is an error.
func ReadFile(sys engine.System, path string) ([]byte, error) {
	f, err := Open(sys, path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return readWhole(f, path)
}

// ReadFileIn is ReadFile for a path below an open directory. Links that stay in the directory
// are followed.
func ReadFileIn(dir *hostpath.Dir, name string) ([]byte, error) {
	// A pipe in the place of the file would block the open until somebody writes to it.
	f, err := dir.Root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return readWhole(f, filepath.Join(dir.Path(), name))
}

// readWhole reads an open file, which must be a regular one. A file of /proc has the size 0,
// and one that is written to grows, so its size says nothing.
func readWhole(f *os.File, path string) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file but %s", path, hostpath.Describe(info))
	}
	data, err := io.ReadAll(io.LimitReader(f, maxRead+1))
	if err == nil && len(data) > maxRead {
		return nil, fmt.Errorf("%s has more than %d MiB, which is too much to be read at once", path, maxRead>>20)
	}
	return data, err
}

// OpenDir opens the directory at the host's path.
func OpenDir(sys engine.System, path string) (*hostpath.Dir, error) {
	return hostpath.OpenDir(root(sys), path)
}

// MakeDir opens the directory at the host's path, and creates it and its missing parents.
func MakeDir(sys engine.System, path string) (*hostpath.Dir, error) {
	return hostpath.MakeDir(root(sys), path)
}

// Parent opens the directory that the last component of the host's path is in,
// and returns that component.
func Parent(sys engine.System, path string) (*hostpath.Dir, string, error) {
	return hostpath.Parent(root(sys), path)
}

// Through returns the path to use for the host's path when links of any user may be
// followed: path itself if it has none.
func Through(sys engine.System, path string, follow bool) (string, error) {
	if !follow {
		return path, nil
	}
	return hostpath.Resolve(root(sys), path)
}

// isMissing reports whether err says that a path or its parent does not exist.
func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
