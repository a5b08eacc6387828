package kube

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

	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/renameio/v2"

	"deployer/images"
)

// The programs of the control plane.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	KWOK              = "kwok"
)

// KubernetesVersion and EtcdVersion are versions that `make artifacts` builds.
const (
	KubernetesVersion = "v1.36.3"
	EtcdVersion       = "v3.6.8"
)

// Programs writes the programs of the control plane, from the directory that
// `deployer artifacts build` has filled, to a directory of the cache. It returns their
// paths by name.
func Programs(artifacts, cache string) (map[string]string, error) {
	index, err := images.ReadIndex(artifacts)
	if err != nil {
		return nil, fmt.Errorf("%w; run `make artifacts` first", err)
	}
	programs := map[string]string{}
	for name, version := range map[string]string{
		Etcd: EtcdVersion, APIServer: KubernetesVersion, ControllerManager: KubernetesVersion, Scheduler: KubernetesVersion,
	} {
		entry, ok := index.Find(images.Ref{Name: name, Version: version, Arch: runtime.GOARCH})
		if !ok {
			return nil, fmt.Errorf("%s has no %s %s; run `make artifacts` first", artifacts, name, version)
		}
		programs[name] = filepath.Join(cache, name+"-"+entry.SHA256[:16])
		if _, err := os.Stat(programs[name]); err == nil {
			continue
		}
		if err := unpackProgram(filepath.Join(artifacts, filepath.FromSlash(entry.File)), entry.Kind, name, programs[name]); err != nil {
			return nil, fmt.Errorf("unpacking %s: %w", name, err)
		}
	}
	return programs, nil
}

// unpackProgram writes one program of an archive or image to a file.
func unpackProgram(file string, kind images.Kind, name, dest string) error {
	if err := os.MkdirAll(filepath.Dir(dest), 0o755); err != nil {
		return err
	}
	content, err := openFiles(file, kind)
	if err != nil {
		return err
	}
	defer content.Close()
	for files := tar.NewReader(content); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("%s has no file %s", file, name)
		}
		if err != nil {
			return fmt.Errorf("reading %s: %w", file, err)
		}
		if header.Typeflag == tar.TypeReg && path.Base(header.Name) == name {
			return writeProgram(dest, files)
		}
	}
}

// openFiles returns the files of a publisher's tar.gz, or of an image, as one tar stream.
func openFiles(file string, kind images.Kind) (io.ReadCloser, error) {
	if kind == images.KindImage {
		img, err := tarball.ImageFromPath(file, nil)
		if err != nil {
			return nil, err
		}
		return mutate.Extract(img), nil
	}
	packed, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	plain, err := gzip.NewReader(packed)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("reading %s: %w", file, err), packed.Close())
	}
	return struct {
		io.Reader
		io.Closer
	}{plain, packed}, nil
}

func writeProgram(dest string, content io.Reader) error {
	f, err := renameio.NewPendingFile(dest, renameio.WithPermissions(0o755))
	if err != nil {
		return err
	}
	defer f.Cleanup()
	if _, err := io.Copy(f, content); err != nil {
		return fmt.Errorf("writing %s: %w", dest, err)
	}
	return f.CloseAtomicallyReplace()
}
