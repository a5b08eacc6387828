package images

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// TestOpenImage: OpenImage reads an archive of WriteImage with the same digest,
// configuration and content.
func TestOpenImage(t *testing.T) {
	layer := filepath.Join(t.TempDir(), "layer.tar")
	if err := os.WriteFile(layer, []byte(strings.Repeat("layer ", 2000)), 0o644); err != nil {
		t.Fatal(err)
	}
	img, err := Assemble(layer, "arm64", v1.Config{User: "7"})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "image.tar")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteImage(file, "registry.example/x:1", img); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	opened, err := OpenImage(path)
	if err != nil {
		t.Fatal(err)
	}
	want, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := opened.Digest(); err != nil || got != want {
		t.Errorf("digest is %s (%v), want %s", got, err, want)
	}
	if config, err := opened.ConfigFile(); err != nil || config.Config.User != "7" || config.Architecture != "arm64" {
		t.Errorf("configuration is %+v (%v)", config, err)
	}
	layers, err := opened.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers: %v", len(layers), err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	if got, err := io.ReadAll(content); err != nil || string(got) != strings.Repeat("layer ", 2000) {
		t.Errorf("layer holds %d bytes (%v)", len(got), err)
	}
	damaged, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged = []byte(strings.Replace(string(damaged), `"User":"7"`, `"User":"8"`, 1))
	if err := os.WriteFile(path, damaged, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenImage(path); err == nil || !strings.Contains(err.Error(), "digest mismatch") {
		t.Errorf("error of a damaged archive is %v", err)
	}
}
