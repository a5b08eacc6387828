package undo

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

// File describes a regular file, a directory or a symbolic link.
type File struct {
	Mode fs.FileMode `json:"mode"` // type and permission bits
	UID  int         `json:"uid"`
	GID  int         `json:"gid"`
	Size int64       `json:"size"` // bytes of a regular file
	Link string      `json:"link,omitempty"`
	// ModTime and Inode change with each writing of the file.
	ModTime time.Time `json:"mod_time"`
	Inode   uint64    `json:"inode"`
	// Digest is the hex SHA-256 of a file up to maxDigested bytes, if
	// describeWithDigest was called; else empty.
	Digest string `json:"digest,omitempty"`
	// Attributes are the extended attributes that control access: SELinux context,
	// access lists, capabilities.
	Attributes map[string][]byte `json:"attributes,omitempty"`
}

// maxDigested is the size in bytes up to which a file is read again for its digest,
// so that a new file with the same content can be recognised later.
const maxDigested = 1 << 20

// describePath describes the file at a path of the host; nil when there is none.
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

// isMissing reports whether err says that there is no file, also because a parent is
// no directory.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// describeWithDigest is describePath with the digest of a small file.
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

// buffers holds buffers for reading files.
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
	// Without the file's WriteTo, which allocates a buffer each time.
	_, err = io.CopyBuffer(h, struct{ io.Reader }{in}, *buf)
	return hex.EncodeToString(h.Sum(nil)), err
}

// attributes reads the extended attributes that backups keep; none on a file system
// without them.
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
			continue // removed meanwhile, or not readable for this user
		}
		if out == nil {
			out = map[string][]byte{}
		}
		out[name] = slices.Clip(value[:n])
	}
	return out, nil
}

// sameAccess reports whether type, mode, owner, link target and attributes are
// equal.
func (f *File) sameAccess(g *File) bool {
	return f.Mode == g.Mode && f.UID == g.UID && f.GID == g.GID && f.Link == g.Link &&
		maps.EqualFunc(f.Attributes, g.Attributes, bytes.Equal)
}

// unmodifiedSince reports whether the file was not written between two descriptions.
func (f *File) unmodifiedSince(g *File) bool {
	return f.Inode == g.Inode && f.Size == g.Size && f.ModTime.Equal(g.ModTime)
}
