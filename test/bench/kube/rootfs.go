package kube

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"

	"deployer/images"
)

// RootFS returns a directory with the files of a container image, for programs that run with it as
// their root directory. The version is the one that the directory of artifacts prefers. The directory is in
// the cache, and has the devices null, random and urandom. RootFS needs root.
func RootFS(artifacts, cache, name string) (string, error) {
	index, err := images.ReadIndex(artifacts)
	if err != nil {
		return "", fmt.Errorf("%w; run `make artifacts` first", err)
	}
	entry, ok := index.Find(images.Ref{Name: name, Version: index.Versions[name], Arch: runtime.GOARCH})
	if !ok {
		return "", fmt.Errorf("%s has no %s %s; run `make artifacts` first", artifacts, name, index.Versions[name])
	}
	dir := filepath.Join(cache, name+"-"+entry.SHA256[:16]+".rootfs")
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	partial, err := os.MkdirTemp(cache, name+"-")
	if err != nil {
		return "", err
	}
	if err := unpackRootFS(filepath.Join(artifacts, filepath.FromSlash(entry.File)), entry.Kind, partial); err != nil {
		return "", errors.Join(fmt.Errorf("unpacking %s: %w", name, err), os.RemoveAll(partial))
	}
	return dir, os.Rename(partial, dir)
}

// unpackRootFS writes all files of an image to dir.
func unpackRootFS(file string, kind images.Kind, dir string) error {
	content, err := openFiles(file, kind)
	if err != nil {
		return err
	}
	defer content.Close()
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	for files := tar.NewReader(content); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("reading %s: %w", file, err)
		}
		if err := unpackEntry(files, header, dir); err != nil {
			return fmt.Errorf("%s: %w", header.Name, err)
		}
	}
	for _, name := range []string{"dev", "tmp", "run"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			return err
		}
	}
	// The numbers of memory devices (Documentation/admin-guide/devices.txt of Linux).
	for name, minor := range map[string]uint32{"null": 3, "random": 8, "urandom": 9} {
		path := filepath.Join(dir, "dev", name)
		if err := unix.Mknod(path, unix.S_IFCHR|0o666, int(unix.Mkdev(1, minor))); err != nil {
			return fmt.Errorf("creating device %s: %w", path, err)
		}
	}
	return nil
}

// unpackEntry writes one file, directory or link; other kinds are left out.
func unpackEntry(content io.Reader, header *tar.Header, dir string) error {
	if !filepath.IsLocal(header.Name) {
		return errors.New("the name leads out of the image")
	}
	path := filepath.Join(dir, header.Name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	switch header.Typeflag {
	case tar.TypeDir:
		return os.MkdirAll(path, header.FileInfo().Mode().Perm())
	case tar.TypeSymlink:
		return os.Symlink(header.Linkname, path)
	case tar.TypeLink:
		return os.Link(filepath.Join(dir, header.Linkname), path)
	case tar.TypeReg:
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, header.FileInfo().Mode().Perm())
		if err != nil {
			return err
		}
		_, err = io.Copy(f, content)
		return errors.Join(err, f.Close())
	}
	return nil
}
