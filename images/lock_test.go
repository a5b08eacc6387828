package images

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func pinOf(name, content string) Pin {
	return Pin{Ref: Ref{name, "v1", "amd64"}, SHA256: hexOf([]byte(content)), Size: int64(len(content)), Source: "https://example.org/" + name}
}

func openLock(t *testing.T, path string) *Lock {
	t.Helper()
	lock, err := ReadLock(path)
	if err != nil {
		t.Fatal(err)
	}
	return lock
}

func TestLockFileIsStable(t *testing.T) {
	path := filepath.Join(t.TempDir(), LockName)
	pins := []Pin{pinOf("a", "1"), pinOf("b", "2"), pinOf("c", "3")}
	var contents []string
	for _, order := range [][]int{{0, 1, 2}, {2, 0, 1}} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		lock := openLock(t, path)
		for _, i := range order {
			lock.Put(pins[i])
		}
		if err := lock.Save(); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		contents = append(contents, string(content))
	}
	if diff := cmp.Diff(contents[0], contents[1]); diff != "" {
		t.Errorf("the order of pinning shows in the file:\n%s", diff)
	}
	if diff := cmp.Diff(pins, sortedPins(openLock(t, path).pins)); diff != "" {
		t.Error(diff)
	}
}

func TestLockSaveWritesOnlyChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), LockName)
	lock := openLock(t, path)
	if err := lock.Save(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an empty lock was written: %v", err)
	}
}

// TestLockOfTwoRuns: of two runs that share a lock file, each keeps the pins of the
// other, and neither overwrites other content silently.
func TestLockOfTwoRuns(t *testing.T) {
	path := filepath.Join(t.TempDir(), LockName)
	first, second := openLock(t, path), openLock(t, path)
	first.Put(pinOf("a", "1"))
	second.Put(pinOf("b", "2"))
	for _, lock := range []*Lock{first, second} {
		if err := lock.Save(); err != nil {
			t.Fatal(err)
		}
	}
	if got := sortedPins(openLock(t, path).pins); len(got) != 2 {
		t.Errorf("file has %+v, want both pins", got)
	}
	third, fourth := openLock(t, path), openLock(t, path)
	third.Put(pinOf("c", "one"))
	fourth.Put(pinOf("c", "two"))
	if err := third.Save(); err != nil {
		t.Fatal(err)
	}
	if err := fourth.Save(); err == nil || !strings.Contains(err.Error(), "another run") {
		t.Errorf("the second run's other content gives %v", err)
	}
	if pin, _ := openLock(t, path).Pin(Ref{"c", "v1", "amd64"}); pin.SHA256 != hexOf([]byte("one")) {
		t.Errorf("the first pin was lost: %+v", pin)
	}
	// Intentionally replacing the content that the file had when it was read is no
	// conflict.
	update := openLock(t, path)
	update.Put(pinOf("c", "three"))
	if err := update.Save(); err != nil {
		t.Error(err)
	}
}

func TestReadLockRefuses(t *testing.T) {
	good := "sha256: " + hexOf([]byte("x"))
	for name, test := range map[string]struct{ content, err string }{
		"unknown key":      {"artifacts:\n- {name: a, version: v1, arch: amd64, " + good + ", sha512: 1}", "field sha512 not found"},
		"short digest":     {"artifacts:\n- {name: a, version: v1, arch: amd64, sha256: abcd}", `"abcd" is not a SHA-256`},
		"a path as digest": {"artifacts:\n- {name: a, version: v1, arch: amd64, sha256: ../../etc/passwd}", "is not a SHA-256"},
		"twice":            {"artifacts:\n- {name: a, version: v1, arch: amd64, " + good + "}\n- {name: a, version: v1, arch: amd64, " + good + "}", "pinned twice"},
		"path as name":     {"artifacts:\n- {name: ../a, version: v1, arch: amd64, " + good + "}", "plain words"},
	} {
		path := filepath.Join(t.TempDir(), LockName)
		if err := os.WriteFile(path, []byte(test.content), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadLock(path); err == nil || !strings.Contains(err.Error(), test.err) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v, want %q and the path", name, err, test.err)
		}
	}
}

// TestPublisherReplacesAFile checks that an artifact that differs from its pin is refused
// until the new digest is accepted.
func TestPublisherReplacesAFile(t *testing.T) {
	p := newPublisher(t)
	first, second := payload(1000), payload(2000)
	p.put(toolPath, first)
	r := newResolver(t, testCatalogue(t, p.URL, "registry.invalid"), NewUpstream(nil))
	refs := []Ref{toolRef}
	if err := r.Fetch(t.Context(), refs, nil); err != nil {
		t.Fatal(err)
	}
	p.put(toolPath, second)

	// Another machine has the same lock file and an empty store.
	fresh := newResolver(t, r.Catalogue, r.Source)
	fresh.Lock = openLock(t, r.Lock.Path())
	err := fresh.Fetch(t.Context(), refs, nil)
	if !errors.Is(err, ErrMismatch) || !strings.Contains(err.Error(), "lock --update") {
		t.Errorf("fetch of replaced content gives %v", err)
	}
	if _, err := fresh.Resolve(t.Context(), toolRef); !errors.Is(err, ErrMissing) {
		t.Errorf("Resolve gives %v, want ErrMissing", err)
	}
	if err := fresh.Accept(t.Context(), refs, false, nil); !errors.Is(err, ErrMismatch) {
		t.Errorf("locking without update gives %v", err)
	}
	if err := fresh.Accept(t.Context(), refs, true, nil); err != nil {
		t.Fatal(err)
	}
	blob, err := fresh.Resolve(t.Context(), toolRef)
	if err != nil {
		t.Fatal(err)
	}
	checkBlob(t, blob, second)
	if pin, _ := openLock(t, r.Lock.Path()).Pin(toolRef); pin.SHA256 != hexOf(second) {
		t.Errorf("the lock file still pins %s", pin.SHA256)
	}
}
