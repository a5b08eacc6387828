package images

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// gzipped returns content compressed with gzip, as publishers offer archives.
func gzipped(t *testing.T, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestArchiveIsExpanded: an archive is fetched and pinned as published, and can be
// sent without its gzip.
func TestArchiveIsExpanded(t *testing.T) {
	p := newPublisher(t)
	plain := payload(300_000)
	published := gzipped(t, plain)
	p.put("/bundle-4.5.6.tgz", published)
	p.put("/SUMS", fmt.Appendf(nil, "%s  bundle-4.5.6.tgz\n", hexOf(published)))
	r := newResolver(t, testCatalogue(t, p.URL, "registry.invalid"), NewUpstream(nil))
	ref := Ref{Name: "bundle", Version: "v4.5.6", Arch: "amd64"}
	if err := r.Fetch(t.Context(), []Ref{ref}, nil); err != nil {
		t.Fatal(err)
	}
	blob, err := r.Resolve(t.Context(), ref)
	if err != nil || blob.Digest != hexOf(published) || blob.Expanded != hexOf(plain) {
		t.Fatalf("got %+v, %v; want %s expanded to %s", blob, err, hexOf(published), hexOf(plain))
	}
	expanded, err := r.Store.Blob(blob.Expanded)
	if err != nil {
		t.Fatal(err)
	}
	checkBlob(t, expanded, plain)

	overwrite(t, expanded.Path, flip)
	if _, err := r.Resolve(t.Context(), ref); !errors.Is(err, ErrMismatch) {
		t.Errorf("damaged: %v, want a mismatch", err)
	}
	if err := r.Verify(t.Context(), []Ref{ref}, nil); !errors.Is(err, ErrMismatch) {
		t.Errorf("Verify: %v, want a mismatch", err)
	}
	if err := r.Repair(t.Context(), []Ref{ref}, nil); err != nil {
		t.Errorf("Repair: %v", err)
	}
	if blob, err = r.Resolve(t.Context(), ref); err != nil || blob.Expanded != hexOf(plain) {
		t.Errorf("repaired: %+v, %v", blob, err)
	}
}

func TestExpanded(t *testing.T) {
	plain := payload(100_000)
	for name, tt := range map[string]struct {
		content  []byte
		expanded string // empty: an error
	}{
		"gzip":         {gzipped(t, plain), hexOf(plain)},
		"no gzip":      {plain, hexOf(plain)},
		"empty":        {nil, hexOf(nil)},
		"damaged gzip": {gzipped(t, plain)[:5000], ""},
	} {
		t.Run(name, func(t *testing.T) {
			store, err := OpenStore(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			digest := hexOf(tt.content)
			if err := os.WriteFile(filepath.Join(store.Root(), contentDir, digest), tt.content, 0o444); err != nil {
				t.Fatal(err)
			}
			// The partial file is that of a killed process.
			if err := os.WriteFile(partialFile(store, digest+expandedSuffix), []byte("half"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := store.Compressed(t.Context(), digest); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				got, err := store.Expanded(t.Context(), digest)
				if got != tt.expanded || (err != nil) != (tt.expanded == "") {
					t.Errorf("got %s, %v; want %s", got, err, tt.expanded)
				}
			}
			if tt.expanded == "" {
				if left, _ := filepath.Glob(filepath.Join(store.Root(), partialDir, "*")); len(left) > 0 {
					t.Errorf("left behind: %v", left)
				}
			}
		})
	}
}
