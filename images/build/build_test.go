package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/klauspost/compress/zstd"

	"deployer/images"
)

// buildPause builds the smallest real artifact: one Go program in an image.
func buildPause(t *testing.T, dir, work string) (*images.Index, []State) {
	t.Helper()
	var states []State
	index, err := Build(t.Context(), catalogueOf(t), Options{
		Dir: dir, Work: work, Names: []string{"pause"},
		Progress: func(e Event) {
			if strings.HasPrefix(e.What, "pause") {
				states = append(states, e.State)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return index, states
}

func TestBuild(t *testing.T) {
	dir, work := t.TempDir(), t.TempDir()
	index, states := buildPause(t, dir, work)
	if states[0] != Started || states[len(states)-1] != Built {
		t.Errorf("first build went through %v", states)
	}
	first := index.Entries[0]
	path := filepath.Join(dir, first.File)
	checkImage(t, path)

	start := time.Now()
	if _, states = buildPause(t, dir, work); len(states) != 1 || states[0] != Cached {
		t.Errorf("second build went through %v, want cached", states)
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("a build with nothing to do took %s", took)
	}

	// A lost file is built again with the same bytes, even without the compiled
	// programs.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	index, states = buildPause(t, dir, t.TempDir())
	if states[len(states)-1] != Built || index.Entries[0] != first {
		t.Errorf("rebuild went through %v and gave %+v, want %+v", states, index.Entries[0], first)
	}

	// An artifact with other inputs is built again.
	first.Inputs = "those of an older recipe"
	index.Put(first)
	if err := index.Write(dir); err != nil {
		t.Fatal(err)
	}
	if _, states = buildPause(t, dir, work); states[len(states)-1] != Built {
		t.Errorf("with other inputs the build went through %v", states)
	}
}

// checkImage reads an image archive as an OCI layout and compares the layers with
// their digests, packed and unpacked. The validation of go-containerregistry supports
// only gzip.
func checkImage(t *testing.T, path string) {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("tar", "-C", dir, "-xf", path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("%+v, %v", manifest, err)
	}
	img, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	layers, err := img.Layers()
	if err != nil || len(layers) != len(config.RootFS.DiffIDs) || len(layers) == 0 {
		t.Fatalf("%d layers, %d in the configuration: %v", len(layers), len(config.RootFS.DiffIDs), err)
	}
	for i, layer := range layers {
		digest, err := layer.Digest()
		if err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(filepath.Join(dir, "blobs", "sha256", digest.Hex))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		packed := sha256.New()
		decoder, err := zstd.NewReader(io.TeeReader(file, packed))
		if err != nil {
			t.Fatal(err)
		}
		plain := sha256.New()
		if _, err := io.Copy(plain, decoder); err != nil {
			t.Fatal(err)
		}
		decoder.Close()
		if got := hex.EncodeToString(packed.Sum(nil)); got != digest.Hex {
			t.Errorf("layer %d has digest %s, want %s", i, got, digest.Hex)
		}
		if got := hex.EncodeToString(plain.Sum(nil)); got != config.RootFS.DiffIDs[i].Hex {
			t.Errorf("layer %d unpacked has digest %s, want %s", i, got, config.RootFS.DiffIDs[i].Hex)
		}
	}
}

// TestBuiltDirectoryIsASource checks that the directory of a build can be the source of
// artifacts.
func TestBuiltDirectoryIsASource(t *testing.T) {
	dir := t.TempDir()
	buildPause(t, dir, t.TempDir())
	source, err := images.NewDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	store, err := images.OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	lock, err := images.ReadLock(filepath.Join(t.TempDir(), images.LockName))
	if err != nil {
		t.Fatal(err)
	}
	r := &images.Resolver{Catalogue: catalogueOf(t), Store: store, Lock: lock, Source: source}
	refs, err := r.Refs("", runtime.GOARCH, nil, "pause")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Fetch(t.Context(), refs, nil); err != nil {
		t.Fatal(err)
	}
	blob, err := r.Resolve(t.Context(), refs[0])
	if err != nil {
		t.Fatal(err)
	}
	if name, _, err := images.ReadImageIndex(blob.Path); err != nil || name != "registry.k8s.io/pause:3.10.1" {
		t.Errorf("the archive holds %s (%v)", name, err)
	}
}

func TestBuildRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		options Options
		err     string
	}{
		"no directory":       {Options{Work: t.TempDir()}, "the directory for the result is missing"},
		"unknown artifact":   {Options{Dir: t.TempDir(), Work: t.TempDir(), Names: []string{"pauze"}}, `no artifact "pauze"`},
		"unknown set":        {Options{Dir: t.TempDir(), Work: t.TempDir(), Sets: []string{"calica"}}, `no set of artifacts "calica" in the catalogue, there are calico`},
		"unknown kubernetes": {Options{Dir: t.TempDir(), Work: t.TempDir(), Kubernetes: []string{"v1.1.1"}}, "kubernetes v1.1.1 is not in the catalogue"},
	} {
		if _, err := Build(t.Context(), catalogueOf(t), test.options); err == nil || !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: error %v, want %q", name, err, test.err)
		}
	}
}

// TestMissingTool: without the compiler the error names the package to install.
func TestMissingTool(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Build(t.Context(), catalogueOf(t), Options{Dir: t.TempDir(), Work: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "go is not installed: install Debian package golang-go") {
		t.Errorf("error is %v", err)
	}
}

// TestBuildsTakeTurns: a second build into the same directory waits, and can be
// stopped.
func TestBuildsTakeTurns(t *testing.T) {
	dir := t.TempDir()
	release, err := exclusive(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 3*time.Second, errors.New("stopped"))
	defer cancel()
	_, err = Build(ctx, catalogueOf(t), Options{Dir: dir, Work: t.TempDir(), Names: []string{"pause"}})
	if err == nil || !strings.Contains(err.Error(), "another build into") {
		t.Errorf("error is %v", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	buildPause(t, dir, t.TempDir())
}

func TestPauseEndsOnSIGTERM(t *testing.T) {
	work := t.TempDir()
	if err := (module{name: "pause", own: true}).compile(t.Context(), runtime.GOARCH, filepath.Join(work, "pause")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(work, "pause", "bin", "pause"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// The signal may come before the handler exists and then ends the process too, by
	// default; in both cases the build must not continue.
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Error("pause goes on after SIGTERM")
	}
}
