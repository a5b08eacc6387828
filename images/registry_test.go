package images

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

var pictureRef = Ref{Name: "picture", Version: "v1.2.3", Arch: "amd64"}

// newRegistry returns a registry in this process; damage, when set, may rewrite the
// answer to a request.
func newRegistry(t *testing.T, damage func(r *http.Request, body []byte) []byte) string {
	t.Helper()
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if damage == nil || r.Method != http.MethodGet {
			inner.ServeHTTP(w, r)
			return
		}
		recorder := httptest.NewRecorder()
		inner.ServeHTTP(recorder, r)
		for key, values := range recorder.Header() {
			w.Header()[key] = values
		}
		body := damage(r, recorder.Body.Bytes())
		w.WriteHeader(recorder.Code)
		_, _ = w.Write(body)
	}))
	server.Config.SetKeepAlivesEnabled(false) // see publisher
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func randomImage(t *testing.T, arch string) v1.Image {
	t.Helper()
	img, err := random.Image(20_000, 3)
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", arch
	if img, err = mutate.ConfigFile(img, config); err != nil {
		t.Fatal(err)
	}
	return img
}

// push publishes an index of both architectures and returns its images by arch.
func push(t *testing.T, image string) map[string]v1.Image {
	t.Helper()
	byArch := map[string]v1.Image{}
	index := v1.ImageIndex(empty.Index)
	for _, arch := range []string{"arm64", "amd64"} {
		byArch[arch] = randomImage(t, arch)
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: byArch[arch], Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
	}
	ref, err := name.ParseReference(image)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.WriteIndex(ref, index); err != nil {
		t.Fatal(err)
	}
	return byArch
}

func TestFetchImage(t *testing.T) {
	host := newRegistry(t, nil)
	images := push(t, host+"/team/picture:v1.2.3")
	r := newResolver(t, testCatalogue(t, "http://unused.invalid", host), NewUpstream(nil))
	arm := Ref{"picture", "v1.2.3", "arm64"}
	if err := r.Fetch(t.Context(), []Ref{pictureRef, arm}, nil); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []Ref{pictureRef, arm} {
		blob, err := r.Resolve(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		digest, err := images[ref.Arch].Digest()
		if err != nil {
			t.Fatal(err)
		}
		checkImageArchive(t, blob.Path, host+"/team/picture:v1.2.3", digest)
		if pin, _ := r.Lock.Pin(ref); pin.Manifest != digest.String() || pin.SHA256 != blob.Digest {
			t.Errorf("pin is %+v, want manifest %s", pin, digest)
		}
	}
}

// checkImageArchive reads the archive as OCI layout and as docker's format.
func checkImageArchive(t *testing.T, path, imageName string, digest v1.Hash) {
	t.Helper()
	found, manifest, err := ReadImageIndex(path)
	if err != nil || found != imageName || manifest != digest.String() {
		t.Errorf("index says %s %s (%v), want %s %s", found, manifest, err, imageName, digest)
	}
	index, err := layout.ImageIndexFromPath(untar(t, path))
	if err != nil {
		t.Fatal(err)
	}
	img, err := index.Image(digest)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(img); err != nil {
		t.Errorf("as OCI layout: %v", err)
	}
	tag, err := name.NewTag(imageName)
	if err != nil {
		t.Fatal(err)
	}
	legacy, err := tarball.ImageFromPath(path, &tag)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(legacy); err != nil {
		t.Errorf("in docker's format: %v", err)
	}
}

func untar(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for archive := tar.NewReader(bytes.NewReader(content)); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		target := filepath.Join(dir, header.Name)
		body, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(target, body, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestImageTagMoves: after the tag has moved, machines with the lock file still get
// the pinned content, and locking names the change.
func TestImageTagMoves(t *testing.T) {
	host := newRegistry(t, nil)
	image := host + "/team/picture:v1.2.3"
	before := push(t, image)["amd64"]
	r := newResolver(t, testCatalogue(t, "http://unused.invalid", host), NewUpstream(nil))
	if err := r.Fetch(t.Context(), []Ref{pictureRef}, nil); err != nil {
		t.Fatal(err)
	}
	after := push(t, image)["amd64"]

	fresh := newResolver(t, r.Catalogue, r.Source)
	fresh.Lock = openLock(t, r.Lock.Path())
	if err := fresh.Fetch(t.Context(), []Ref{pictureRef}, nil); err != nil {
		t.Fatal(err)
	}
	blob, err := fresh.Resolve(t.Context(), pictureRef)
	if err != nil {
		t.Fatal(err)
	}
	old, _ := before.Digest()
	checkImageArchive(t, blob.Path, image, old)

	moved, _ := after.Digest()
	if err := fresh.Accept(t.Context(), []Ref{pictureRef}, false, nil); !errors.Is(err, ErrMismatch) || !strings.Contains(err.Error(), moved.Hex) {
		t.Errorf("locking gives %v, want a mismatch naming %s", err, moved)
	}
	if err := fresh.Accept(t.Context(), []Ref{pictureRef}, true, nil); err != nil {
		t.Fatal(err)
	}
	if blob, err = fresh.Resolve(t.Context(), pictureRef); err != nil {
		t.Fatal(err)
	}
	checkImageArchive(t, blob.Path, image, moved)
}

// TestImageTampered: the registry sends other bytes than those of the digest, for the
// manifest or a layer.
func TestImageTampered(t *testing.T) {
	for _, part := range []string{"/manifests/sha256:", "/blobs/sha256:"} {
		on := false
		host := newRegistry(t, func(r *http.Request, body []byte) []byte {
			if on && strings.Contains(r.URL.Path, part) {
				return flip(bytes.Clone(body))
			}
			return body
		})
		push(t, host+"/team/picture:v1.2.3")
		on = true
		r := newResolver(t, testCatalogue(t, "http://unused.invalid", host), NewUpstream(nil))
		synctest.Test(t, func(t *testing.T) {
			if err := r.Fetch(t.Context(), []Ref{pictureRef}, nil); err == nil {
				t.Errorf("tampered %s was accepted", part)
			}
		})
		if _, err := r.Resolve(t.Context(), pictureRef); !errors.Is(err, ErrUnpinned) {
			t.Errorf("tampered %s: Resolve gives %v", part, err)
		}
	}
}

func TestImageOfAnotherPlatform(t *testing.T) {
	host := newRegistry(t, nil)
	ref, err := name.ParseReference(host + "/team/picture:v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, randomImage(t, "arm64")); err != nil {
		t.Fatal(err)
	}
	r := newResolver(t, testCatalogue(t, "http://unused.invalid", host), NewUpstream(nil))
	err = r.Fetch(t.Context(), []Ref{pictureRef}, nil)
	if err == nil || !strings.Contains(err.Error(), "is for linux/arm64, not for linux/amd64") {
		t.Errorf("error is %v", err)
	}
}

func TestWriteImageIsDeterministicAndSized(t *testing.T) {
	img := randomImage(t, "amd64")
	var first, second bytes.Buffer
	for _, w := range []*bytes.Buffer{&first, &second} {
		if err := WriteImage(w, "example.org/x:1", img); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("two archives of one image differ")
	}
	if size, err := ImageSize("example.org/x:1", img); err != nil || size != int64(first.Len()) {
		t.Errorf("ImageSize is %d (%v), the archive has %d bytes", size, err, first.Len())
	}
}

func TestProbeImage(t *testing.T) {
	probe, err := ProbeImage(ProbeTag(hexOf([]byte("a program"))), []byte("a program"), "arm64")
	if err != nil {
		t.Fatal(err)
	}
	again, err := ProbeImage(ProbeTag(hexOf([]byte("a program"))), []byte("a program"), "arm64")
	if err != nil || again.Digest != probe.Digest || again.Digest != hexOf(probe.Archive) {
		t.Errorf("digests are %s and %s (%v)", probe.Digest, again.Digest, err)
	}
	if want := "deployer.local/probe:" + hexOf([]byte("a program"))[:12]; probe.Name != want {
		t.Errorf("name is %s, want %s", probe.Name, want)
	}
	path := filepath.Join(t.TempDir(), "probe.tar")
	if err := os.WriteFile(path, probe.Archive, 0o644); err != nil {
		t.Fatal(err)
	}
	img, err := tarball.ImageFromPath(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.ConfigFile()
	if err != nil || config.Architecture != "arm64" || len(config.Config.Entrypoint) != 1 || config.Config.Entrypoint[0] != "/agent" {
		t.Errorf("config is %+v (%v)", config, err)
	}
	files := tar.NewReader(mutate.Extract(img))
	header, err := files.Next()
	if err != nil || header.Name != "agent" || header.Mode != 0o755 {
		t.Fatalf("first file is %+v (%v)", header, err)
	}
	if content, err := io.ReadAll(files); err != nil || string(content) != "a program" {
		t.Errorf("content is %q (%v)", content, err)
	}
}
