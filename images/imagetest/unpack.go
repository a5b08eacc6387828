package imagetest

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// unpack writes the files of an image into dir, layer by layer. Every file is opened
// through an os.Root, so that no link of the image leads out of dir.
func unpack(img v1.Image, dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	layers, err := img.Layers()
	if err != nil {
		return err
	}
	for _, layer := range layers {
		content, err := layer.Uncompressed()
		if err != nil {
			return err
		}
		if err := errors.Join(unpackLayer(root, tar.NewReader(content)), content.Close()); err != nil {
			return err
		}
	}
	return nil
}

// whiteout is the prefix of entries that remove a file of a lower layer; opaque is the
// entry that removes all of a directory.
const (
	whiteout = ".wh."
	opaque   = ".wh..wh..opq"
)

func unpackLayer(root *os.Root, archive *tar.Reader) error {
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := path.Clean(strings.TrimPrefix(header.Name, "/"))
		if name == "." {
			continue
		}
		if err := unpackEntry(root, name, header, archive); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
}

func unpackEntry(root *os.Root, name string, header *tar.Header, content io.Reader) error {
	dir, base := path.Split(name)
	if base == opaque {
		return clearDirectory(root, path.Clean(dir))
	}
	if removed, ok := strings.CutPrefix(base, whiteout); ok {
		return root.RemoveAll(path.Join(dir, removed))
	}
	if header.Typeflag != tar.TypeDir {
		if err := root.RemoveAll(name); err != nil {
			return err
		}
		if _, err := root.Stat(path.Clean(dir)); err != nil { // a link to a directory counts as a directory
			if err := root.MkdirAll(path.Clean(dir), 0o755); err != nil {
				return err
			}
		}
	}
	switch header.Typeflag {
	case tar.TypeDir:
		if err := root.Mkdir(name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	case tar.TypeReg:
		if err := writeFile(root, name, content); err != nil {
			return err
		}
	case tar.TypeSymlink:
		if err := root.Symlink(header.Linkname, name); err != nil {
			return err
		}
		return root.Lchown(name, header.Uid, header.Gid)
	case tar.TypeLink:
		return root.Link(path.Clean(strings.TrimPrefix(header.Linkname, "/")), name)
	default:
		return nil // devices: the container gets its own
	}
	if err := root.Chown(name, header.Uid, header.Gid); err != nil {
		return err
	}
	return root.Chmod(name, fs.FileMode(header.Mode&0o777)|special(header.Mode))
}

// special returns the sticky bit; tests run without set-user-ID programs.
func special(mode int64) fs.FileMode {
	if mode&0o1000 != 0 {
		return fs.ModeSticky
	}
	return 0
}

func writeFile(root *os.Root, name string, content io.Reader) error {
	file, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}

// clearDirectory removes the content of a directory.
func clearDirectory(root *os.Root, dir string) error {
	entries, err := fs.ReadDir(root.FS(), dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := root.RemoveAll(path.Join(dir, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}
