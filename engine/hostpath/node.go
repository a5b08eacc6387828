package hostpath

import (
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Node is a file, a directory or a link itself, held by a descriptor: it stays the
// same when its path is exchanged. The caller closes it.
type Node struct {
	// Path is the host's path of the node, without the links on the way.
	Path string
	file *os.File
}

func newNode(fd int, path string) *Node {
	return &Node{Path: path, file: os.NewFile(uintptr(fd), path)}
}

// NodeOf returns the node of an open file, which the caller still owns.
func NodeOf(f *os.File) *Node { return &Node{Path: f.Name(), file: f} }

func (n *Node) fd() int { return int(n.file.Fd()) }

// Close closes the descriptor.
func (n *Node) Close() { _ = n.file.Close() }

// Stat describes the node, a link as a link.
func (n *Node) Stat() (fs.FileInfo, error) { return n.file.Stat() }

// Real returns a path of this process that names the node, even if the node was
// renamed. The path is valid until Close.
func (n *Node) Real() string { return realOf(n.file) }

func realOf(f *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) }

// Readlink returns the target of a link.
func (n *Node) Readlink() (string, error) {
	buf := make([]byte, unix.PathMax)
	size, err := unix.Readlinkat(n.fd(), "", buf)
	if err != nil {
		return "", &fs.PathError{Op: "readlink", Path: n.Path, Err: err}
	}
	return string(buf[:size]), nil
}

// File opens a regular file for reading. Any other type is an error and is not
// opened: a pipe would block the reader.
func (n *Node) File() (*os.File, error) {
	info, err := n.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file but %s", n.Path, Describe(info))
	}
	fd, err := open(unix.AT_FDCWD, n.Real(), unix.O_RDONLY)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: n.Path, Err: err}
	}
	return os.NewFile(uintptr(fd), n.Path), nil
}

// Describe names the type of a file, for messages.
func Describe(info fs.FileInfo) string {
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return "a regular file"
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	default:
		return "a special file (" + mode.Type().String() + ")"
	}
}

// Chown sets user and group of the node; -1 leaves one unchanged.
func (n *Node) Chown(uid, gid int) error {
	if err := unix.Fchownat(n.fd(), "", uid, gid, unix.AT_EMPTY_PATH); err != nil {
		return &fs.PathError{Op: "chown", Path: n.Path, Err: err}
	}
	return nil
}

// Chmod sets the mode of the node, which must not be a link.
func (n *Node) Chmod(mode fs.FileMode) error {
	if err := unix.Fchmodat(unix.AT_FDCWD, n.Real(), rawMode(mode), 0); err != nil {
		return &fs.PathError{Op: "chmod", Path: n.Path, Err: err}
	}
	return nil
}

func rawMode(mode fs.FileMode) uint32 {
	raw := uint32(mode.Perm())
	if mode&fs.ModeSetuid != 0 {
		raw |= syscall.S_ISUID
	}
	if mode&fs.ModeSetgid != 0 {
		raw |= syscall.S_ISGID
	}
	if mode&fs.ModeSticky != 0 {
		raw |= syscall.S_ISVTX
	}
	return raw
}

// Touch sets the times of access and modification of an open file.
func Touch(f *os.File, when time.Time) error {
	t := unix.NsecToTimespec(when.UnixNano())
	if err := unix.UtimesNanoAt(unix.AT_FDCWD, realOf(f), []unix.Timespec{t, t}, 0); err != nil {
		return &fs.PathError{Op: "utimes", Path: f.Name(), Err: err}
	}
	return nil
}
