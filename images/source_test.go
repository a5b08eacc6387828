package images

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
)

// TestMirror: a mirror has the publishers' layout below their host names, for files
// and images.
func TestMirror(t *testing.T) {
	content := payload(10_000)
	p := newPublisher(t)
	p.put("/mirror/dl.example.org/release/v1.2.3/amd64/tool", content)
	mirror, err := NewMirror(strings.Replace(p.URL, "http://", "http://reader:secret@", 1)+"/mirror", nil)
	if err != nil {
		t.Fatal(err)
	}
	r := newResolver(t, testCatalogue(t, "https://dl.example.org", "registry.example.org"), mirror)
	if err := r.Fetch(t.Context(), []Ref{toolRef}, nil); err != nil {
		t.Fatal(err)
	}
	blob, err := r.Resolve(t.Context(), toolRef)
	if err != nil {
		t.Fatal(err)
	}
	checkBlob(t, blob, content)
	lock, err := os.ReadFile(r.Lock.Path())
	if err != nil || strings.Contains(string(lock), "secret") || !strings.Contains(string(lock), "/mirror/dl.example.org/release") {
		t.Errorf("lock file (%v):\n%s", err, lock)
	}
	if strings.Contains(mirror.String(), "secret") {
		t.Errorf("the source names itself %s", mirror)
	}
}

func TestMirrorErrorsHideCredentials(t *testing.T) {
	p := newPublisher(t)
	address, err := url.Parse(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	address.User = url.UserPassword("reader", "secret")
	for _, stopped := range []bool{false, true} {
		if stopped {
			p.Close()
		}
		mirror, err := NewMirror(address.String(), nil)
		if err != nil {
			t.Fatal(err)
		}
		r := newResolver(t, testCatalogue(t, "https://dl.example.org", "registry.example.org"), mirror)
		synctest.Test(t, func(t *testing.T) {
			if err := r.Fetch(t.Context(), []Ref{toolRef}, nil); err == nil || strings.Contains(err.Error(), "secret") {
				t.Errorf("error is %v", err)
			}
		})
	}
}

func TestMirrorOfImages(t *testing.T) {
	host := newRegistry(t, nil)
	img := push(t, host+"/cache/registry.example.org/team/picture:v1.2.3")["amd64"]
	mirror, err := NewMirror("http://"+host+"/cache/", nil)
	if err != nil {
		t.Fatal(err)
	}
	r := newResolver(t, testCatalogue(t, "https://dl.example.org", "registry.example.org"), mirror)
	if err := r.Fetch(t.Context(), []Ref{pictureRef}, nil); err != nil {
		t.Fatal(err)
	}
	blob, err := r.Resolve(t.Context(), pictureRef)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}
	checkImageArchive(t, blob.Path, "registry.example.org/team/picture:v1.2.3", digest)
}

func TestOpenSource(t *testing.T) {
	dir := t.TempDir()
	if err := (&Index{}).Write(dir); err != nil {
		t.Fatal(err)
	}
	for spec, want := range map[string]string{
		"":                      "upstream",
		"upstream":              "upstream",
		"https://m.example/a":   "mirror https://m.example/a",
		filepath.Base(dir):      "directory " + dir,
		dir:                     "directory " + dir,
		"ftp://m.example":       "",
		"https://":              "",
		"https://m.example/?x":  "",
		filepath.Join(dir, "x"): "",
	} {
		source, err := OpenSource(spec, filepath.Dir(dir), nil)
		switch {
		case want == "" && err == nil:
			t.Errorf("%q was accepted as %s", spec, source)
		case want != "" && (err != nil || source.String() != want):
			t.Errorf("%q: %v (%v), want %s", spec, source, err, want)
		}
	}
}

// directoryWith returns a directory source that holds the tool.
func directoryWith(t *testing.T, content []byte) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tool"), content, 0o644); err != nil {
		t.Fatal(err)
	}
	index := &Index{}
	index.Put(IndexEntry{Ref: toolRef, Kind: KindFile, File: "tool", SHA256: hexOf(content), Size: int64(len(content))})
	if err := index.Write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func directoryResolver(t *testing.T, dir string) *Resolver {
	t.Helper()
	source, err := NewDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	return newResolver(t, testCatalogue(t, "https://dl.example.org", "registry.example.org"), source)
}

func TestDirectory(t *testing.T) {
	content := payload(10_000)
	dir := directoryWith(t, content)
	r := directoryResolver(t, dir)
	if err := r.Fetch(t.Context(), []Ref{toolRef}, nil); err != nil {
		t.Fatal(err)
	}
	blob, err := r.Resolve(t.Context(), toolRef)
	if err != nil {
		t.Fatal(err)
	}
	checkBlob(t, blob, content)
	absent := Ref{"bundle", "v4.5.6", "amd64"}
	if err := r.Fetch(t.Context(), []Ref{absent}, nil); err == nil || !strings.Contains(err.Error(), "holds no "+absent.String()) {
		t.Errorf("absent artifact: %v", err)
	}

	// The file was changed on its way to the site.
	overwrite(t, filepath.Join(dir, "tool"), flip)
	tampered := directoryResolver(t, dir)
	if err := tampered.Fetch(t.Context(), []Ref{toolRef}, nil); !errors.Is(err, ErrMismatch) {
		t.Errorf("tampered file: %v", err)
	}
	// The file is cut.
	overwrite(t, filepath.Join(dir, "tool"), func(c []byte) []byte { return c[:77] })
	cut := directoryResolver(t, dir)
	synctest.Test(t, func(t *testing.T) {
		if err := cut.Fetch(t.Context(), []Ref{toolRef}, nil); err == nil || !strings.Contains(err.Error(), "77 of 10000 bytes") {
			t.Errorf("cut file: %v", err)
		}
	})
}

// TestDirectoryHasImagesOfUsers: an image that was built from an image file of a user is found by the
// name that manifests have for it.
func TestDirectoryHasImagesOfUsers(t *testing.T) {
	artifact := Artifact{Name: "image-quay.io--team--tool", Kind: KindImage, Image: "quay.io/team/tool:{version}"}
	built := IndexEntry{Ref: Ref{"tool", "v1", "amd64"}, Kind: KindImage, File: "quay.io/team/tool/v1-amd64.tar", SHA256: hexOf([]byte("x")), Size: 1}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "quay.io/team/tool"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, built.File), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	index := &Index{}
	index.Put(built)
	if err := index.Write(dir); err != nil {
		t.Fatal(err)
	}
	source, err := NewDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	offer, err := source.Offer(t.Context(), artifact, Ref{artifact.Name, "v1", "amd64"})
	if err != nil || offer.SHA256 != built.SHA256 {
		t.Fatalf("offer %+v, %v", offer, err)
	}
	content, err := source.Open(t.Context(), artifact, Ref{artifact.Name, "v1", "amd64"}, offer, 0)
	if err != nil {
		t.Fatal(err)
	}
	_ = content.Close()
	for _, absent := range []Ref{{artifact.Name, "v2", "amd64"}, {artifact.Name, "v1", "arm64"}} {
		if _, err := source.Offer(t.Context(), artifact, absent); err == nil {
			t.Errorf("%s was found", absent)
		}
	}
}

// TestDirectoryAgainstLock: with a lock file made from upstream, a directory with
// other content of the same name is refused, and the error has both digests.
func TestDirectoryAgainstLock(t *testing.T) {
	r := directoryResolver(t, directoryWith(t, []byte("built here")))
	r.Lock.Put(Pin{Ref: toolRef, SHA256: hexOf([]byte("published")), Size: 9, Source: "https://dl.example.org/tool"})
	err := r.Fetch(t.Context(), []Ref{toolRef}, nil)
	if !errors.Is(err, ErrMismatch) {
		t.Fatalf("error is %v, want a mismatch", err)
	}
	for _, want := range []string{hexOf([]byte("built here")), hexOf([]byte("published")), "https://dl.example.org/tool", "lock --update"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q: %v", want, err)
		}
	}
}

func TestReadIndexRefuses(t *testing.T) {
	digest := hexOf([]byte("x"))
	for name, test := range map[string]struct{ content, err string }{
		"leaves the directory": {"artifacts:\n- {name: a, version: v1, arch: amd64, kind: file, file: ../a, sha256: " + digest + "}", "leaves the directory"},
		"absolute":             {"artifacts:\n- {name: a, version: v1, arch: amd64, kind: file, file: /etc/passwd, sha256: " + digest + "}", "leaves the directory"},
		"unknown key":          {"artefacts: []", "field artefacts not found"},
		"no digest":            {"artifacts:\n- {name: a, version: v1, arch: amd64, kind: file, file: a}", "is not a SHA-256"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, IndexName), []byte(test.content), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadIndex(dir); err == nil || !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: error %v, want %q", name, err, test.err)
		}
	}
}
