package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"deployer/images"
)

// etcdImage builds the image of etcd that kubeadm runs as a static pod, from the
// programs that deployer runs as a unit. It stores the image in the cache of the
// benchmark, under the digest of the programs' archive.
func (b *benchmark) etcdImage(index *images.Index, version string) (name, file string, err error) {
	entry, ok := index.Find(images.Ref{Name: "etcd", Version: version, Arch: runtime.GOARCH})
	if !ok {
		return "", "", fmt.Errorf("%s holds no etcd %s", b.artifacts, version)
	}
	name = "registry.k8s.io/etcd:" + version
	file = filepath.Join(b.cache, "bench-install", "etcd-"+entry.SHA256[:16]+".tar")
	if _, err := os.Stat(file); err == nil {
		return name, file, nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return "", "", err
	}
	layer, err := os.CreateTemp(filepath.Dir(file), ".layer-*")
	if err != nil {
		return "", "", err
	}
	defer os.Remove(layer.Name())
	archive := filepath.Join(b.artifacts, filepath.FromSlash(entry.File))
	if err := errors.Join(programsLayer(layer, archive), layer.Close()); err != nil {
		return "", "", err
	}
	return name, file, writeImage(file, name, layer.Name())
}

// programsLayer writes a layer with the programs of a publisher's tar.gz in
// /usr/local/bin, where kubeadm's manifest and its PATH expect them.
func programsLayer(w io.Writer, archive string) error {
	source, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer source.Close()
	plain, err := gzip.NewReader(source)
	if err != nil {
		return fmt.Errorf("%s: %w", archive, err)
	}
	in, out := tar.NewReader(plain), tar.NewWriter(w)
	for {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return out.Close()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", archive, err)
		}
		if header.Typeflag != tar.TypeReg || strings.Contains(path.Base(header.Name), ".") {
			continue // documents
		}
		program := &tar.Header{Typeflag: tar.TypeReg, Name: "usr/local/bin/" + path.Base(header.Name), Mode: 0o755, Size: header.Size}
		if err := out.WriteHeader(program); err != nil {
			return err
		}
		if _, err := io.Copy(out, in); err != nil {
			return fmt.Errorf("%s: %s: %w", archive, header.Name, err)
		}
	}
}

// writeImage writes an image of one layer under a temporary name first.
func writeImage(file, name, layer string) error {
	img, err := images.Assemble(layer, runtime.GOARCH, v1.Config{
		Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
		Cmd: []string{"etcd"},
	})
	if err != nil {
		return err
	}
	out, err := os.Create(file + ".new")
	if err != nil {
		return err
	}
	if err := errors.Join(images.WriteImage(out, name, img), out.Close()); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
