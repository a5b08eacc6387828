package build

import (
	"archive/tar"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

// tree is a root file system in memory, by path without leading slash. It becomes one
// image layer.
type tree map[string]node

type node struct {
	header  tar.Header
	content []byte
	file    string // content on disk, when it is too large to hold
}

func (t tree) dir(name string, mode int64) {
	t.parents(name)
	t[name] = node{header: tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: mode}}
}

func (t tree) file(name string, mode int64, content []byte) {
	t.parents(name)
	t[name] = node{header: tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(content))}, content: content}
}

func (t tree) link(name, target string) {
	t.parents(name)
	t[name] = node{header: tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target, Mode: 0o777}}
}

// program adds an executable of this machine.
func (t tree) program(name, source string) error {
	info, err := os.Stat(source)
	if err != nil {
		return err
	}
	t.parents(name)
	t[name] = node{header: tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o755, Size: info.Size()}, file: source}
	return nil
}

// move renames a file; the old name must exist.
func (t tree) move(from, to string) error {
	n, ok := t[from]
	if !ok {
		return fmt.Errorf("no file %s to move to %s", from, to)
	}
	delete(t, from)
	t.parents(to)
	n.header.Name = to
	t[to] = n
	return nil
}

func (t tree) parents(name string) {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if _, ok := t[dir]; !ok {
			t[dir] = node{header: tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755}}
		}
	}
}

// linkAbove returns the symbolic link among the directories above name; empty: there is none.
func (t tree) linkAbove(name string) string {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if t[dir].header.Typeflag == tar.TypeSymlink {
			return dir
		}
	}
	return ""
}

// unpack adds the files of a Debian package, without documents but with licences.
func (t tree) unpack(ctx context.Context, deb string) error {
	return stream(ctx, func(r io.Reader) error {
		archive := tar.NewReader(r)
		for {
			header, err := archive.Next()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("unpacking %s: %w", deb, err)
			}
			if err := t.add(header, archive); err != nil {
				return fmt.Errorf("unpacking %s: %s: %w", deb, header.Name, err)
			}
		}
	}, "dpkg-deb", "--fsys-tarfile", deb)
}

func (t tree) add(header *tar.Header, content io.Reader) error {
	name := merged(path.Clean(strings.TrimPrefix(header.Name, "./")))
	if name == "." || unwanted(name) {
		return nil
	}
	clean := tar.Header{
		Typeflag: header.Typeflag, Name: name, Linkname: header.Linkname, Mode: header.Mode & 0o7777,
		Size: header.Size, Uid: header.Uid, Gid: header.Gid,
	}
	var data []byte
	switch header.Typeflag {
	case tar.TypeReg:
		var err error
		if data, err = io.ReadAll(content); err != nil {
			return err
		}
	case tar.TypeDir:
		clean.Name += "/"
	case tar.TypeSymlink:
	case tar.TypeLink:
		clean.Linkname = merged(path.Clean(strings.TrimPrefix(header.Linkname, "./")))
	default:
		return fmt.Errorf("type %q is not expected in a package", header.Typeflag)
	}
	t.parents(name)
	t[name] = node{header: clean, content: data}
	return nil
}

// merged moves /bin, /sbin and /lib* below /usr, the targets of Debian's links.
func merged(name string) string {
	first, _, _ := strings.Cut(name, "/")
	if slices.Contains(mergedDirs(), first) {
		return "usr/" + name
	}
	return name
}

func mergedDirs() []string { return []string{"bin", "sbin", "lib", "lib32", "lib64", "libx32"} }

func unwanted(name string) bool {
	for _, prefix := range []string{"usr/share/man/", "usr/share/locale/", "usr/share/lintian/", "usr/share/bug/",
		"usr/share/doc-base/", "usr/share/info/", "usr/share/vim/", "usr/lib/systemd/", "etc/init.d/"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	if strings.Contains(name, "/gconv/") {
		return true // character sets, 8 MB of libc that no program of these images uses
	}
	return strings.HasPrefix(name, "usr/share/doc/") && path.Base(name) != "copyright"
}

// write writes the tree as a tar: sorted, without dates or user names, so that the same
// tree gives the same bytes.
func (t tree) write(w io.Writer) error {
	archive := tar.NewWriter(w)
	names := slices.Sorted(maps.Keys(t))
	// Hard links come last, because their targets must exist.
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(t[a].hardLinks(), t[b].hardLinks())
	})
	for _, name := range names {
		if err := t[name].write(archive); err != nil {
			return fmt.Errorf("layer: %s: %w", name, err)
		}
	}
	return archive.Close()
}

// hardLinks returns 1 for a hard link, otherwise 0; it is a sort key.
func (n node) hardLinks() int {
	if n.header.Typeflag == tar.TypeLink {
		return 1
	}
	return 0
}

func (n node) write(archive *tar.Writer) error {
	if err := archive.WriteHeader(&n.header); err != nil {
		return err
	}
	if n.file == "" {
		_, err := archive.Write(n.content)
		return err
	}
	source, err := os.Open(n.file)
	if err != nil {
		return err
	}
	defer source.Close()
	_, err = io.Copy(archive, source)
	return err
}
