package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"deployer/engine/hostpath"
)

// File is what is at a path: a regular file, a directory or a symbolic link.
type File struct {
	Mode fs.FileMode `json:"mode"` // type and permission bits
	UID  int         `json:"uid"`
	GID  int         `json:"gid"`
	Size int64       `json:"size"` // bytes of a regular file
	Link string      `json:"link,omitempty"`
	// ModTime and Inode tell one writing of a file from the next, without
	// reading it.
	ModTime time.Time `json:"mod_time"`
	Inode   uint64    `json:"inode"`
	// Digest is the hex SHA-256 of a small file, where lookWell was asked.
	Digest string `json:"digest,omitempty"`
	// Attributes are the extended attributes that belong to what the file may
	// do: SELinux context, access lists, capabilities.
	Attributes map[string][]byte `json:"attributes,omitempty"`
}

// maxDigested is the size in bytes up to which it is worth the time to read a
// file again, so as to know later whether a new file has the same content.
const maxDigested = 1 << 20

// describePath describes what is at a path of the host; nil when there is nothing.
func describePath(root, path string) (*File, error) {
	n, err := hostpath.Open(root, path)
	if isMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer n.Close()
	return describe(n)
}

func describe(n *hostpath.Node) (*File, error) {
	info, err := n.Stat()
	if err != nil {
		return nil, err
	}
	f := &File{Mode: info.Mode(), ModTime: info.ModTime()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		f.UID, f.GID, f.Inode = int(st.Uid), int(st.Gid), st.Ino
	}
	switch {
	case info.Mode().IsRegular():
		f.Size = info.Size()
	case info.Mode()&fs.ModeSymlink != 0:
		f.Link, err = n.Readlink()
	}
	if err == nil {
		f.Attributes, err = attributes(n.Real())
	}
	return f, err
}

// isMissing tells that there is nothing at a path, also because what should be a
// directory above it is none.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// describeWithDigest also reads a small file.
func describeWithDigest(root, path string) (*File, error) {
	n, err := hostpath.Open(root, path)
	if isMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer n.Close()
	f, err := describe(n)
	if err == nil && f.Mode.IsRegular() && f.Size <= maxDigested {
		f.Digest, err = digestOf(n)
	}
	return f, err
}

// buffers are for reading files.
var buffers = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}

func digestFile(root, path string) (string, error) {
	n, err := hostpath.Open(root, path)
	if err != nil {
		return "", err
	}
	defer n.Close()
	return digestOf(n)
}

func digestOf(n *hostpath.Node) (string, error) {
	in, err := n.File()
	if err != nil {
		return "", err
	}
	defer func() { _ = in.Close() }()
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	h := sha256.New()
	// Only its Read: a file would copy itself, with a new buffer each time.
	_, err = io.CopyBuffer(h, struct{ io.Reader }{in}, *buf)
	return hex.EncodeToString(h.Sum(nil)), err
}

// attributes reads those extended attributes that are kept. A file system that
// has none is no error.
func attributes(real string) (map[string][]byte, error) {
	var space [4 << 10]byte
	names := space[:]
	n, err := unix.Listxattr(real, names)
	if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ERANGE) || errors.Is(err, unix.EPERM) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out map[string][]byte
	for name := range strings.SplitSeq(string(names[:n]), "\x00") {
		if !strings.HasPrefix(name, "security.") && !strings.HasPrefix(name, "system.posix_acl_") {
			continue
		}
		value := make([]byte, 4<<10)
		n, err := unix.Getxattr(real, name, value)
		if err != nil {
			continue // gone meanwhile, or not ours to read
		}
		if out == nil {
			out = map[string][]byte{}
		}
		out[name] = slices.Clip(value[:n])
	}
	return out, nil
}

// sameAccess compares type, mode, owner and where a link leads, not content.
func (f *File) sameAccess(g *File) bool {
	return f.Mode == g.Mode && f.UID == g.UID && f.GID == g.GID && f.Link == g.Link &&
		maps.EqualFunc(f.Attributes, g.Attributes, bytes.Equal)
}

// unmodifiedSince tells that nobody has written the file between two looks.
func (f *File) unmodifiedSince(g *File) bool {
	return f.Inode == g.Inode && f.Size == g.Size && f.ModTime.Equal(g.ModTime)
}
