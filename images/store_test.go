package images

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func fetched(t *testing.T, content []byte) (*Resolver, Blob) {
	t.Helper()
	p := newPublisher(t)
	p.put(toolPath, content)
	r := newResolver(t, testCatalogue(t, p.URL, "registry.invalid"), NewUpstream(nil))
	if err := r.Fetch(t.Context(), []Ref{toolRef}, nil); err != nil {
		t.Fatal(err)
	}
	blob, err := r.Resolve(t.Context(), toolRef)
	if err != nil {
		t.Fatal(err)
	}
	return r, blob
}

func overwrite(t *testing.T, path string, change func([]byte) []byte) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, change(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func flip(content []byte) []byte {
	content[len(content)/2] ^= 1
	return content
}

// TestResolveRefusesChangedContent: a changed file of the store is never returned,
// and a fetch repairs it.
func TestResolveRefusesChangedContent(t *testing.T) {
	content := payload(50_000)
	for name, change := range map[string]func([]byte) []byte{
		"one bit": flip, "cut": func(c []byte) []byte { return c[:100] },
	} {
		t.Run(name, func(t *testing.T) {
			r, blob := fetched(t, content)
			overwrite(t, blob.Path, change)
			if _, err := r.Resolve(t.Context(), toolRef); !errors.Is(err, ErrMismatch) {
				t.Errorf("Resolve gives %v, want ErrMismatch", err)
			}
			if _, err := r.Resolve(t.Context(), toolRef); !errors.Is(err, ErrMismatch) || !strings.Contains(err.Error(), "verify --repair") {
				t.Errorf("then %v, want ErrMismatch and what to do", err)
			}
			if _, err := os.Stat(blob.Path); err != nil {
				t.Errorf("reading has removed the content: %v", err)
			}
			if err := r.Fetch(t.Context(), []Ref{toolRef}, nil); err != nil {
				t.Fatal(err)
			}
			again, err := r.Resolve(t.Context(), toolRef)
			if err != nil {
				t.Fatal(err)
			}
			checkBlob(t, again, content)
		})
	}
}

// TestVerifyFindsSilentDamage: Verify detects damage that keeps size and time, as of
// a failing disk.
func TestVerifyFindsSilentDamage(t *testing.T) {
	for _, compressed := range []bool{false, true} {
		r, blob := fetched(t, payload(50_000))
		if err := r.Verify(t.Context(), []Ref{toolRef}, nil); err != nil {
			t.Fatal(err)
		}
		path := blob.Path
		if compressed {
			path = blob.CompressedPath
		}
		before, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		overwrite(t, path, flip)
		if err := os.Chtimes(path, time.Time{}, before.ModTime()); err != nil {
			t.Fatal(err)
		}
		err = r.Verify(t.Context(), []Ref{toolRef}, nil)
		if !errors.Is(err, ErrMismatch) || !strings.Contains(err.Error(), path) {
			t.Errorf("Verify gives %v, want a mismatch of %s", err, path)
		}
		if _, err := os.Stat(path); err != nil {
			t.Errorf("Verify has removed the file: %v", err)
		}
		if err := r.Repair(t.Context(), []Ref{toolRef}, nil); err != nil {
			t.Errorf("Repair: %v", err)
		}
		if err := r.Verify(t.Context(), []Ref{toolRef}, nil); err != nil {
			t.Errorf("after a repair: %v", err)
		}
	}
}

// TestStoreStaysInItsDirectory: a digest is only a name in the store: a path that
// leads out of it is neither hashed nor removed, and neither is the target of a link.
func TestStoreStaysInItsDirectory(t *testing.T) {
	r, blob := fetched(t, payload(100))
	outside := filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(outside, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	leading, err := filepath.Rel(filepath.Join(r.Store.Root(), contentDir), outside)
	if err != nil {
		t.Fatal(err)
	}
	linked := strings.Repeat("ab", 32)
	if err := os.Symlink(outside, filepath.Join(r.Store.Root(), contentDir, linked)); err != nil {
		t.Fatal(err)
	}
	for _, digest := range []string{leading, outside, "../../x", "", ".", linked, strings.ToUpper(blob.Digest), blob.Digest + ".zst", blob.Digest[:63]} {
		if b, err := r.Store.Blob(digest); err == nil {
			t.Errorf("%q: got %+v", digest, b)
		}
		if f, _, err := r.Store.OpenCompressed(digest); err == nil {
			t.Errorf("%q: got %s", digest, f.Name())
		}
	}
	if content, err := os.ReadFile(outside); err != nil || string(content) != "precious" {
		t.Errorf("the file outside is %q, %v", content, err)
	}
	if beside, err := os.ReadDir(filepath.Dir(outside)); err != nil || len(beside) != 1 {
		t.Errorf("beside it lies %v, %v", beside, err)
	}
}

// TestPartialOfSomebodyElse: a partial file that another user made, or has another
// name for, is not used, because its content could change after it was verified.
func TestPartialOfSomebodyElse(t *testing.T) {
	content := payload(1000)
	for name, plant := range map[string]func(path, elsewhere string) error{
		"link to another file": func(path, elsewhere string) error { return os.Symlink(elsewhere, path) },
		"link within the store": func(path, _ string) error {
			if err := os.WriteFile(filepath.Join(filepath.Dir(path), "mine"), nil, 0o600); err != nil {
				return err
			}
			return os.Symlink("mine", path)
		},
		"link to nothing": func(path, _ string) error { return os.Symlink("nothing", path) },
		"second name":     func(path, elsewhere string) error { return os.Link(elsewhere, path) },
		"writable by all": func(path, _ string) error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o666)) },
		"of another user": func(path, _ string) error {
			return errors.Join(os.WriteFile(path, nil, 0o644), os.Chown(path, 12345, -1))
		},
		"no plain file":     func(path, _ string) error { return syscall.Mkfifo(path, 0o600) },
		"link to directory": func(path, _ string) error { return os.Symlink("../sha256", path) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPublisher(t)
			p.put(toolPath, content)
			r := newResolver(t, testCatalogue(t, p.URL, "registry.invalid"), NewUpstream(nil))
			elsewhere := filepath.Join(r.Store.Root(), "elsewhere")
			if err := os.WriteFile(elsewhere, []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := plant(partialFile(r.Store, hexOf(content)), elsewhere); err != nil {
				if name == "of another user" && os.Geteuid() != 0 {
					return // only root can give files away
				}
				t.Fatal(err)
			}
			if err := r.Fetch(t.Context(), []Ref{toolRef}, nil); err == nil {
				t.Error("it was used")
			}
			if got, err := os.ReadFile(elsewhere); err != nil || string(got) != "x" {
				t.Errorf("the other file is now %q, %v", got, err)
			}
		})
	}
}

func TestVerifyReportsWhatIsAbsent(t *testing.T) {
	r, _ := fetched(t, payload(100))
	other := Ref{"tool", "v0", "amd64"}
	err := r.Verify(t.Context(), []Ref{toolRef, other}, nil)
	if !errors.Is(err, ErrUnpinned) || strings.Contains(err.Error(), toolRef.String()) {
		t.Errorf("Verify gives %v, want only %s as unpinned", err, other)
	}
}

// TestFetchByManyAtOnce: when several processes fetch the same content at the same
// time, one downloads it, and all get it.
func TestFetchByManyAtOnce(t *testing.T) {
	p := newPublisher(t)
	content := payload(500_000)
	p.put(toolPath, content)
	first := newResolver(t, testCatalogue(t, p.URL, "registry.invalid"), NewUpstream(nil))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			store, err := OpenStore(first.Store.Root())
			if err != nil {
				t.Error(err)
				return
			}
			r := &Resolver{Catalogue: first.Catalogue, Store: store, Lock: openLockIn(first.Lock.Path(), t), Source: NewUpstream(nil)}
			if err := r.Fetch(t.Context(), []Ref{toolRef}, nil); err != nil {
				t.Error(err)
				return
			}
			blob, err := r.Resolve(t.Context(), toolRef)
			if err != nil {
				t.Error(err)
				return
			}
			checkBlob(t, blob, content)
		})
	}
	all.Wait()
	if n := p.asked(toolPath); n != 1 {
		t.Errorf("downloaded %d times", n)
	}
	if left, err := os.ReadDir(filepath.Join(first.Store.Root(), partialDir)); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

func openLockIn(path string, t *testing.T) *Lock {
	lock, err := ReadLock(path)
	if err != nil {
		t.Error(err)
	}
	return lock
}

func TestList(t *testing.T) {
	r, blob := fetched(t, payload(100))
	picture := Ref{"picture", "v1.2.3", "amd64"}
	all, err := r.List([]Ref{toolRef, picture})
	if err != nil {
		t.Fatal(err)
	}
	if s := all[0]; !s.Pinned || !s.Stored || s.SHA256 != blob.Digest || s.Size != 100 || s.Image != "" {
		t.Errorf("status of a fetched file: %+v", s)
	}
	if s := all[1]; s.Pinned || s.Stored || s.Image != "registry.invalid/team/picture:v1.2.3" {
		t.Errorf("status of an unknown image: %+v", s)
	}
	if err := os.Remove(blob.Path); err != nil {
		t.Fatal(err)
	}
	if all, _ = r.List([]Ref{toolRef}); !all[0].Pinned || all[0].Stored {
		t.Errorf("status of a lost file: %+v", all[0])
	}
}
