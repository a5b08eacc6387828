package hostpath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxLinks is the maximum number of links in one walk, 40 as in the kernel.
const maxLinks = 40

// walk is the resolution of one path.
type walk struct {
	root     string // the real directory that stands for /
	trustAll bool   // follow links of all users
	links    int
	// untrusted is true after a link was followed that only trustAll permits.
	untrusted bool
}

// split returns the components of a path of the host; none for "/".
func split(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

func (w *walk) start() (*Node, error) {
	fd, err := open(unix.AT_FDCWD, w.root, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: w.root, Err: err}
	}
	return newNode(fd, "/"), nil
}

// directory walks the components from a directory, which it closes. directory calls missing
// for a component that does not exist; without missing that is an error.
func (w *walk) directory(at *Node, parts []string, missing func(at *Node, name string) error) (*Node, error) {
	if end, ok := descend(at, parts); ok {
		at.Close()
		return end, nil
	}
	for _, name := range parts {
		next, err := w.step(at, name)
		if errors.Is(err, fs.ErrNotExist) && missing != nil {
			if err = missing(at, name); err == nil {
				next, err = w.step(at, name)
			}
		}
		at.Close()
		if err != nil {
			return nil, err
		}
		at = next
	}
	return at, nil
}

// step goes one component down or up. at stays open.
func (w *walk) step(at *Node, name string) (*Node, error) {
	if name == ".." {
		return w.up(at)
	}
	path := filepath.Join(at.Path, name)
	// O_DIRECTORY triggers automounts.
	fd, err := open(at.fd(), name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_DIRECTORY)
	if err == nil {
		return newNode(fd, path), nil
	}
	if !errors.Is(err, unix.ENOTDIR) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	fd, err = open(at.fd(), name, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	n := newNode(fd, path)
	defer n.Close()
	info, err := n.Stat()
	if err != nil {
		return nil, err
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		return nil, &fs.PathError{Op: "open", Path: path, Err: unix.ENOTDIR}
	}
	return w.follow(at, n, info, true)
}

// up returns the parent directory; the root is its own parent.
func (w *walk) up(at *Node) (*Node, error) {
	if at.Path == "/" {
		return w.start()
	}
	fd, err := open(at.fd(), "..", unix.O_PATH|unix.O_NOFOLLOW|unix.O_DIRECTORY)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: filepath.Join(at.Path, ".."), Err: err}
	}
	return newNode(fd, filepath.Dir(at.Path)), nil
}

// follow returns the target of a link in the directory at, if the link may be
// followed.
func (w *walk) follow(at, link *Node, info fs.FileInfo, directory bool) (*Node, error) {
	if w.links++; w.links > maxLinks {
		return nil, &fs.PathError{Op: "open", Path: link.Path, Err: unix.ELOOP}
	}
	target, err := link.Readlink()
	if err != nil {
		return nil, err
	}
	var from *Node
	if filepath.IsAbs(target) {
		from, err = w.start()
	} else {
		from, err = w.again(at)
	}
	if err != nil {
		return nil, err
	}
	parts := split(target)
	var to *Node
	switch {
	case directory || len(parts) == 0:
		to, err = w.directory(from, parts, nil)
	default:
		to, err = w.last(from, parts, true)
	}
	if err != nil {
		return nil, err
	}
	ok, err := trusted(at, info, to)
	if err == nil && !ok {
		w.untrusted = true
		if !w.trustAll {
			err = &UntrustedLinkError{Path: link.Path, Target: target, Owner: int(info.Sys().(*syscall.Stat_t).Uid)}
		}
	}
	if err != nil {
		to.Close()
		return nil, err
	}
	return to, nil
}

func (w *walk) again(at *Node) (*Node, error) {
	fd, err := open(at.fd(), ".", unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: at.Path, Err: err}
	}
	return newNode(fd, at.Path), nil
}

// last walks to the last component and closes at. A link there is followed if
// followLast is set.
func (w *walk) last(at *Node, parts []string, followLast bool) (*Node, error) {
	name := parts[len(parts)-1]
	dir, err := w.directory(at, parts[:len(parts)-1], nil)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if name == ".." || name == "." {
		return w.step(dir, name)
	}
	n, err := dir.child(name)
	if err != nil || !followLast {
		return n, err
	}
	info, err := n.Stat()
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return n, err
	}
	defer n.Close()
	return w.follow(dir, n, info, false)
}

// trusted reports whether a link in the directory at may be followed to its target;
// see the package comment.
func trusted(at *Node, link fs.FileInfo, to *Node) (bool, error) {
	owner := link.Sys().(*syscall.Stat_t).Uid
	if !ours(owner) {
		info, err := to.Stat()
		return err == nil && info.Sys().(*syscall.Stat_t).Uid == owner, err
	}
	info, err := at.Stat()
	if err != nil {
		return false, err
	}
	writable := info.Mode().Perm()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0
	return ours(info.Sys().(*syscall.Stat_t).Uid) && !writable, nil
}

// ours reports whether a user is root or the agent's own.
func ours(uid uint32) bool { return uid == 0 || int(uid) == os.Geteuid() }

// open is openat, repeated after an interrupting signal.
func open(at int, name string, flags int) (int, error) {
	for {
		fd, err := unix.Openat(at, name, flags|unix.O_CLOEXEC, 0)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}
