package images

import (
	"bytes"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aead.dev/minisign"
)

// writeTestBundle fetches the tool of the test catalogue and writes it into a bundle.
func writeTestBundle(t *testing.T) (c *Catalogue, path string) {
	t.Helper()
	p := newPublisher(t)
	p.put(toolPath, payload(100_000))
	c = testCatalogue(t, p.URL, "registry.example")
	r := newResolver(t, c, NewUpstream(nil))
	if err := r.Fetch(t.Context(), []Ref{toolRef}, nil); err != nil {
		t.Fatal(err)
	}
	var first, second bytes.Buffer
	for _, w := range []*bytes.Buffer{&first, &second} {
		if err := r.WriteBundle(t.Context(), w, []Ref{toolRef}); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("the same artifacts give two bundles")
	}
	path = filepath.Join(t.TempDir(), "site.bundle")
	if err := os.WriteFile(path, first.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return c, path
}

// TestBundleIsASource: a controller needs only the bundle: no publisher, no store and
// no lock file.
func TestBundleIsASource(t *testing.T) {
	c, path := writeTestBundle(t)
	source, err := OpenSource(filepath.Base(path), filepath.Dir(path), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := newResolver(t, c, source)
	if err := r.Fetch(t.Context(), []Ref{toolRef}, nil); err != nil {
		t.Fatal(err)
	}
	blob, err := r.Resolve(t.Context(), toolRef)
	if err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(blob.Path); err != nil || !bytes.Equal(content, payload(100_000)) {
		t.Errorf("the store has %d bytes (%v)", len(content), err)
	}
	if pin, ok := r.Lock.Pin(toolRef); !ok || pin.SHA256 != hexOf(payload(100_000)) || pin.Source != "bundle:site.bundle" {
		t.Errorf("pinned is %+v", pin)
	}
	other := Ref{Name: "bundle", Version: "v4.5.6", Arch: "amd64"}
	if err := r.Fetch(t.Context(), []Ref{other}, nil); err == nil || !strings.Contains(err.Error(), "holds no bundle v4.5.6") {
		t.Errorf("error is %v", err)
	}
}

// TestBundleIsVerified: content that differs from the index, and an index that
// differs from the pins, are refused.
func TestBundleIsVerified(t *testing.T) {
	c, path := writeTestBundle(t)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	digest := hexOf(payload(100_000))
	damaged := bytes.Replace(content, []byte("sha256: "+digest), []byte("sha256: "+strings.Repeat("0", 64)), 1)
	if bytes.Equal(damaged, content) {
		t.Fatal("the index does not state the digest")
	}
	if err := os.WriteFile(path, damaged, 0o644); err != nil {
		t.Fatal(err)
	}
	source, err := OpenBundle(path, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := newResolver(t, c, source).Fetch(t.Context(), []Ref{toolRef}, nil); !errors.Is(err, ErrMismatch) {
		t.Errorf("error is %v, want a mismatch", err)
	}
	newer := bytes.Replace(content, []byte("format: 1\n"), []byte("format: 7\n"), 1)
	newer = bytes.Replace(newer, []byte("\nversions:"), []byte("\nversionz:"), 1)
	if err := os.WriteFile(path, newer, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenBundle(path, ""); err == nil || !strings.Contains(err.Error(), "it has the format 7") {
		t.Errorf("a newer format with another key: error is %v", err)
	}
	for name, content := range map[string][]byte{"cut": content[:len(content)/2], "text": []byte("hello"), "other tar": make([]byte, 10240)} {
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenBundle(path, ""); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}

func TestBundleSignature(t *testing.T) {
	_, path := writeTestBundle(t)
	public, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(t.TempDir(), "minisign.pub")
	text, err := public.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(key, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenBundle(path, key); !errors.Is(err, ErrSignature) {
		t.Errorf("error without a signature is %v", err)
	}
	sign := func(private minisign.PrivateKey) {
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		signed := minisign.NewReader(file)
		if _, err := bytes.NewBuffer(nil).ReadFrom(signed); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path+SignatureSuffix, signed.Sign(private), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	sign(private)
	if _, err := OpenBundle(path, key); err != nil {
		t.Errorf("error with a signature is %v", err)
	}
	_, foreign, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	sign(foreign)
	if _, err := OpenBundle(path, key); !errors.Is(err, ErrSignature) {
		t.Errorf("error with the signature of another key is %v", err)
	}
	sign(private)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)-1] ^= 1
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenBundle(path, key); !errors.Is(err, ErrSignature) {
		t.Errorf("error of a changed bundle is %v", err)
	}
}
