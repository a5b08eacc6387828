package hostpath

import (
	"fmt"
	"io/fs"
	"path/filepath"
)

// UntrustedLinkError is the error for a link of another user in a path.
type UntrustedLinkError struct {
	Path   string // of the link
	Target string // where it leads
	Owner  int    // number of the user
}

func (e *UntrustedLinkError) Error() string {
	return fmt.Sprintf("%s is a symbolic link to %s that user %d controls: name the target itself, or say follow: true if that user may decide what is written or read there",
		e.Path, e.Target, e.Owner)
}

func clean(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("path %q is not absolute", path)
	}
	return filepath.Clean(path), nil
}

// Open opens a path of the host. root is the real directory that stands for /. A
// link at the end of the path is opened itself. A missing path is fs.ErrNotExist.
func Open(root, path string) (*Node, error) { return (&walk{root: root}).open(path, false) }

// Follow is Open that follows a link at the end of the path, by the rule for links
// on the way.
func Follow(root, path string) (*Node, error) { return (&walk{root: root}).open(path, true) }

func (w *walk) open(path string, followLast bool) (*Node, error) {
	path, err := clean(path)
	if err != nil {
		return nil, err
	}
	at, err := w.start()
	if err != nil || path == "/" {
		return at, err
	}
	return w.last(at, split(path), followLast)
}

// OpenDir opens a directory of the host. A link at the end of the path is followed
// like those on the way.
func OpenDir(root, path string) (*Dir, error) {
	return (&walk{root: root}).openDir(path, nil)
}

// MakeDir is OpenDir that creates missing directories with mode 0755, whatever the
// umask.
func MakeDir(root, path string) (*Dir, error) {
	return (&walk{root: root}).openDir(path, func(at *Node, name string) error {
		made, err := at.mkdir(name, 0o755)
		if err == nil {
			made.Close()
		}
		return err
	})
}

func (w *walk) openDir(path string, missing func(*Node, string) error) (*Dir, error) {
	path, err := clean(path)
	if err != nil {
		return nil, err
	}
	at, err := w.start()
	if err != nil {
		return nil, err
	}
	if at, err = w.directory(at, split(path), missing); err != nil {
		return nil, err
	}
	return newDir(at)
}

// Parent opens the directory of a path, and returns the last component of the path,
// which need not exist.
func Parent(root, path string) (*Dir, string, error) {
	path, err := clean(path)
	if err != nil {
		return nil, "", err
	}
	if path == "/" {
		return nil, "", fmt.Errorf("/ has no parent directory")
	}
	dir, err := OpenDir(root, filepath.Dir(path))
	return dir, filepath.Base(path), err
}

// Lstat describes a path of the host, a link at its end as a link.
func Lstat(root, path string) (fs.FileInfo, error) {
	n, err := Open(root, path)
	if err != nil {
		return nil, err
	}
	defer n.Close()
	return n.Stat()
}

// Resolve returns the path to use for a path whose links the caller wants to follow,
// also untrusted ones: the path itself if it can be opened, otherwise one without
// links. Missing components are kept.
func Resolve(root, path string) (string, error) {
	path, err := clean(path)
	if err != nil || path == "/" {
		return path, err
	}
	w := &walk{root: root, trustAll: true}
	at, err := w.start()
	if err != nil {
		return "", err
	}
	parts := split(path)
	for i, name := range parts[:len(parts)-1] {
		next, err := w.step(at, name)
		if err != nil {
			defer at.Close()
			if isMissing(err) && w.untrusted {
				return filepath.Join(append([]string{at.Path}, parts[i:]...)...), nil
			}
			if isMissing(err) {
				return path, nil
			}
			return "", err
		}
		at.Close()
		at = next
	}
	defer at.Close()
	if !w.untrusted {
		return path, nil
	}
	return filepath.Join(at.Path, parts[len(parts)-1]), nil
}
