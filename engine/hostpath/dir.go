package hostpath

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Dir is an open directory. Its methods take the name of an entry and follow no
// link. The caller closes it.
type Dir struct {
	node *Node
	// Root is the directory as an os.Root, whose methods follow links that stay inside.
	Root *os.Root
}

func newDir(n *Node) (*Dir, error) {
	root, err := os.OpenRoot(n.Real())
	if err != nil {
		n.Close()
		return nil, named(n.Path, err)
	}
	return &Dir{node: n, Root: root}, nil
}

// Close closes the descriptors.
func (d *Dir) Close() {
	_ = d.Root.Close()
	d.node.Close()
}

// Path returns the host's path of the directory, without the links on the way.
func (d *Dir) Path() string { return d.node.Path }

// named adds the host's path to an error.
func named(path string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return &fs.PathError{Op: p.Op, Path: path, Err: p.Err}
	}
	var l *os.LinkError
	if errors.As(err, &l) {
		return &fs.PathError{Op: l.Op, Path: path, Err: l.Err}
	}
	return err
}

func (d *Dir) at(name string) string { return filepath.Join(d.node.Path, name) }

// Open opens an entry, a link as itself.
func (d *Dir) Open(name string) (*Node, error) { return d.node.child(name) }

func (n *Node) child(name string) (*Node, error) {
	path := filepath.Join(n.Path, name)
	fd, err := open(n.fd(), name, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return newNode(fd, path), nil
}

// Lstat describes an entry, a link as a link.
func (d *Dir) Lstat(name string) (fs.FileInfo, error) {
	n, err := d.Open(name)
	if err != nil {
		return nil, err
	}
	defer n.Close()
	return n.Stat()
}

// OpenFile opens a file with flags of os.OpenFile. A link is an error.
func (d *Dir) OpenFile(name string, flags int, mode fs.FileMode) (*os.File, error) {
	for {
		fd, err := unix.Openat(d.node.fd(), name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, rawMode(mode))
		switch {
		case err == nil:
			return os.NewFile(uintptr(fd), d.at(name)), nil
		case !errors.Is(err, unix.EINTR):
			return nil, &fs.PathError{Op: "open", Path: d.at(name), Err: err}
		}
	}
}

// OpenDirectory opens an entry that is a directory. Anything else, a link included, is an error.
func (d *Dir) OpenDirectory(name string) (*Node, error) { return d.node.directory(name) }

// Mkdir creates a directory with exactly the given mode and returns it open, so that the caller
// sets its owner and mode on that node, whatever has the name by then. The error is
// fs.ErrExist when the name is taken.
func (d *Dir) Mkdir(name string, mode fs.FileMode) (*Node, error) { return d.node.mkdir(name, mode) }

// OpenOrMkdir opens an entry that is a directory, or creates it like Mkdir. An existing
// directory keeps its mode.
func (d *Dir) OpenOrMkdir(name string, mode fs.FileMode) (*Node, error) {
	made, err := d.Mkdir(name, mode)
	if errors.Is(err, fs.ErrExist) {
		return d.OpenDirectory(name)
	}
	return made, err
}

// mkdir sets the mode by the descriptor, because the umask may have removed bits. It fails when
// a user who can write to n has replaced the new directory by something else before it was
// opened.
func (n *Node) mkdir(name string, mode fs.FileMode) (*Node, error) {
	path := filepath.Join(n.Path, name)
	if err := unix.Mkdirat(n.fd(), name, rawMode(mode)); err != nil {
		return nil, &fs.PathError{Op: "mkdir", Path: path, Err: err}
	}
	made, err := n.directory(name)
	if err != nil {
		return nil, fmt.Errorf("%s was replaced by another user while it was created, and is left as it is: %w", path, err)
	}
	info, err := made.Stat()
	if err == nil && info.Mode().Perm() != mode.Perm() {
		err = made.Chmod(mode)
	}
	if err != nil {
		made.Close()
		return nil, err
	}
	return made, nil
}

// directory opens an entry that is a directory.
func (n *Node) directory(name string) (*Node, error) {
	path := filepath.Join(n.Path, name)
	fd, err := open(n.fd(), name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_DIRECTORY)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return newNode(fd, path), nil
}

// Rename renames an entry within the directory.
func (d *Dir) Rename(from, to string) error {
	if err := unix.Renameat(d.node.fd(), from, d.node.fd(), to); err != nil {
		return &os.LinkError{Op: "rename", Old: d.at(from), New: d.at(to), Err: err}
	}
	return nil
}

// Symlink creates a link.
func (d *Dir) Symlink(target, name string) error {
	if err := unix.Symlinkat(target, d.node.fd(), name); err != nil {
		return &os.LinkError{Op: "symlink", Old: target, New: d.at(name), Err: err}
	}
	return nil
}

// Remove removes a file, a link or an empty directory.
func (d *Dir) Remove(name string) error { return named(d.at(name), d.Root.Remove(name)) }

// RemoveAll removes an entry with everything below it; a missing entry is no error.
func (d *Dir) RemoveAll(name string) error { return named(d.at(name), d.Root.RemoveAll(name)) }

// Names lists the entries of the directory, in no particular order.
func (d *Dir) Names() ([]string, error) {
	f, err := d.self()
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return f.Readdirnames(-1)
}

// Sync makes the entries of the directory durable.
func (d *Dir) Sync() error {
	f, err := d.self()
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return f.Sync()
}

func (d *Dir) self() (*os.File, error) {
	return d.OpenFile(".", os.O_RDONLY|unix.O_DIRECTORY, 0)
}

func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR)
}
