package images

import (
	"archive/tar"
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var updateFormats = flag.Bool("update-formats", false, "write the golden file of the present format of bundles anew")

// bundleIndexV1 is the index of a bundle in format 1. The file never changes: bundles
// of format 1 are read, or refused with a text that names the format.
const bundleIndexV1 = "testdata/bundle-format-1.yaml"

// publisherAddress matches the address of the publisher of a test.
var publisherAddress = regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+`)

// TestBundleFormat compares the index of a bundle with the golden file of its format, and
// opens a bundle with the golden file as its index.
func TestBundleFormat(t *testing.T) {
	c, path := writeTestBundle(t)
	members, names := readTar(t, path)
	index := publisherAddress.ReplaceAll(members[bundleIndex], []byte("http://publisher.example"))
	if *updateFormats {
		if err := os.WriteFile(bundleIndexV1, index, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(bundleIndexV1)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(index)); diff != "" {
		t.Errorf("the format of bundles has changed (-want +got): give it a new number, and read the former one or refuse it:\n%s", diff)
	}
	if len(names) != 3 || names[0] != bundleIndex || names[1] != bundleLock {
		t.Errorf("the members are %v", names)
	}

	members[bundleIndex] = want
	var golden bytes.Buffer
	w := tar.NewWriter(&golden)
	for _, name := range names {
		if err := w.WriteHeader(bundleHeader(name, int64(len(members[name])))); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(members[name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "golden.bundle")
	if err := os.WriteFile(file, golden.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	source, err := OpenBundle(file, "")
	if err != nil {
		t.Fatalf("a bundle of format 1: %v", err)
	}
	if err := newResolver(t, c, source).Fetch(t.Context(), []Ref{toolRef}, nil); err != nil {
		t.Errorf("a bundle of format 1: %v", err)
	}
}

// readTar returns the members of an archive, and their names in order.
func readTar(t *testing.T, path string) (members map[string][]byte, names []string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	members = map[string][]byte{}
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return members, names
		}
		if err != nil {
			t.Fatal(err)
		}
		if members[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
	}
}
