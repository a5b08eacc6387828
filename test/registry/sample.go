package registry

import (
	"archive/tar"
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"deployer/images"
)

// Push pushes an image whose program sleeps to a registry, through a transport.
func Push(t testing.TB, reference string, transport http.RoundTripper, options ...remote.Option) {
	t.Helper()
	ref, err := name.ParseReference(reference)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.WithoutCancel(t.Context())
	if err := remote.Write(ref, sample(t), append(options, remote.WithTransport(transport), remote.WithContext(ctx))...); err != nil {
		t.Fatal(err)
	}
}

// sample builds the image.
func sample(t testing.TB) v1.Image {
	t.Helper()
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", filepath.Join(dir, "pause"), "deployer/images/build/pause")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the sample's program: %v\n%s", err, out)
	}
	program, err := os.ReadFile(filepath.Join(dir, "pause"))
	if err != nil {
		t.Fatal(err)
	}
	layer := filepath.Join(dir, "layer.tar")
	f, err := os.Create(layer)
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewWriter(f)
	if err := archive.WriteHeader(&tar.Header{Name: "pause", Mode: 0o755, Size: int64(len(program))}); err != nil {
		t.Fatal(err)
	}
	if _, err := archive.Write(program); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	img, err := images.Assemble(layer, runtime.GOARCH, v1.Config{Entrypoint: []string{"/pause"}})
	if err != nil {
		t.Fatal(err)
	}
	return img
}
