package images

import (
	"archive/tar"
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"aead.dev/minisign"
	"github.com/google/go-cmp/cmp"
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

// TestBundledVersions: a bundle states the versions of its artifacts that differ from the
// catalogue's, those of a set under the name of the set.
func TestBundledVersions(t *testing.T) {
	r := &Resolver{Catalogue: embeddedCatalogue(t), Source: fixedVersions{versions: map[string]string{"calico": "v3.28.4", "runc": "1.1.5", "nginx": "1.22.1"}}}
	got := r.bundledVersions([]Ref{{"calico-cni", "v3.28.4", "amd64"}, {"calicoctl", "v3.28.4", "amd64"}, {"runc", "1.1.5", "amd64"}, {"nginx", "1.28.0", "amd64"}})
	if diff := cmp.Diff(map[string]string{"calico": "v3.28.4", "runc": "1.1.5"}, got); diff != "" {
		t.Error(diff)
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
	sign := func(private minisign.PrivateKey) { signBundle(t, path, private) }
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

// signBundle writes the signature of a bundle, as the program minisign does.
func signBundle(t *testing.T, path string, private minisign.PrivateKey) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	signed := minisign.NewReader(file)
	if _, err := io.Copy(io.Discard, signed); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+SignatureSuffix, signed.Sign(private), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestBundleIsReadFromTheVerifiedFile: another bundle gets the name of a signed one, at each of the
// moments at which the name could be opened: while the signature is verified, before the
// index is read, and before content is read. Versions and content are those of the signed
// bundle; a bundle that is changed in its place while it is verified is refused.
func TestBundleIsReadFromTheVerifiedFile(t *testing.T) {
	c, signed := writeTestBundle(t)
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
	signBundle(t, signed, private)
	content, err := os.ReadFile(signed)
	if err != nil {
		t.Fatal(err)
	}
	evil := bytes.ToUpper(content)
	signature := signed + SignatureSuffix

	// The signature is a pipe: the open of the bundle has happened when it is read.
	pipe := func(t *testing.T, path string, then func()) {
		t.Helper()
		text, err := os.ReadFile(signature)
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(path+SignatureSuffix, 0o600); err != nil {
			t.Fatal(err)
		}
		go func() {
			w, err := os.OpenFile(path+SignatureSuffix, os.O_WRONLY, 0)
			if err != nil {
				return
			}
			then()
			_, _ = w.Write(text)
			_ = w.Close()
		}()
	}
	t.Run("another file before the verification", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "site.bundle")
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		pipe(t, path, func() {
			_ = os.WriteFile(path+".evil", evil, 0o644)
			_ = os.Rename(path+".evil", path)
		})
		b, err := OpenBundle(path, key)
		if err != nil {
			t.Fatal(err)
		}
		if err := newResolver(t, c, b).Fetch(t.Context(), []Ref{toolRef}, nil); err != nil {
			t.Errorf("the content of the signed bundle: %v", err)
		}
	})
	t.Run("other bytes in the file before the verification", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "site.bundle")
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		pipe(t, path, func() { _ = os.WriteFile(path, evil, 0o644) })
		if _, err := OpenBundle(path, key); !errors.Is(err, ErrSignature) {
			t.Errorf("error is %v", err)
		}
	})
	t.Run("another file after the verification", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "site.bundle")
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Link(signature, path+SignatureSuffix); err != nil {
			t.Fatal(err)
		}
		b, err := OpenBundle(path, key)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Remove(path), os.WriteFile(path, evil, 0o644)); err != nil {
			t.Fatal(err)
		}
		if err := newResolver(t, c, b).Fetch(t.Context(), []Ref{toolRef}, nil); err != nil {
			t.Errorf("the content of the signed bundle: %v", err)
		}
	})
}

// TestIndexIsOfTheVerifiedBytes: the index comes from the same pass over the file as the bytes that
// are verified, so that a change of the file between two passes has no effect.
func TestIndexIsOfTheVerifiedBytes(t *testing.T) {
	_, path := writeTestBundle(t)
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	passes := 0
	document, members, err := bundleMembers(readerFunc(func(p []byte) (int, error) {
		if at, err := file.Seek(0, io.SeekCurrent); err != nil {
			return 0, err
		} else if at == 0 {
			passes++
		}
		return file.Read(p)
	}), file)
	if err != nil || len(members) != 3 || len(document.Entries) != 1 {
		t.Fatalf("%v, %v, %v", document, members, err)
	}
	if passes != 1 {
		t.Errorf("the start of the file was read %d times", passes)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestHostileBundle: a bundle with a huge index, with a member twice, or with other members first is
// refused before it costs memory.
func TestHostileBundle(t *testing.T) {
	for name, c := range map[string]struct {
		write func(w *tar.Writer) error
		want  string
	}{
		"huge index": {func(w *tar.Writer) error {
			if err := w.WriteHeader(bundleHeader(bundleIndex, maxBundleIndex+1)); err != nil {
				return err
			}
			_, err := w.Write(make([]byte, maxBundleIndex+1))
			return err
		}, "more than 16777216"},
		"index twice": {func(w *tar.Writer) error {
			for range 2 {
				if err := w.WriteHeader(bundleHeader(bundleIndex, 0)); err != nil {
					return err
				}
			}
			return nil
		}, "twice"},
		"content first": {func(w *tar.Writer) error { return w.WriteHeader(bundleHeader("sha256/x", 0)) }, "its first member"},
		"many members": {func(w *tar.Writer) error {
			for i := range maxBundleMembers + 1 {
				name := bundleIndex
				if i > 0 {
					name = fmt.Sprintf("sha256/%d", i)
				}
				if err := w.WriteHeader(bundleHeader(name, 0)); err != nil {
					return err
				}
			}
			return nil
		}, "more than 100000 members"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "site.bundle")
			f, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			w := tar.NewWriter(f)
			if err := errors.Join(c.write(w), w.Close(), f.Close()); err != nil {
				t.Fatal(err)
			}
			if _, err := OpenBundle(path, ""); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want %q", err, c.want)
			}
		})
	}
}
