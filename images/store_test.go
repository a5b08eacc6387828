package images

import (
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

func fetched(t *testing.T, content []byte) (*Resolver, Blob) {
	t.Helper()
	p := newPublisher(t)
	p.put(toolPath, content)
	r := newResolver(t, testCatalogue(t, p.URL, "registry.invalid"), NewUpstream())
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

// A file of the store that somebody wrote to is never handed out, and a fetch
// repairs it.
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
			if _, err := r.Resolve(t.Context(), toolRef); !errors.Is(err, ErrMissing) {
				t.Errorf("then %v, want ErrMissing", err)
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

// Verify finds damage that left size and time alone, as a failing disk does.
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
		if err := r.Fetch(t.Context(), []Ref{toolRef}, nil); err != nil {
			t.Fatal(err)
		}
		if err := r.Verify(t.Context(), []Ref{toolRef}, nil); err != nil {
			t.Errorf("after a new fetch: %v", err)
		}
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

// Several processes fetch the same content at the same time: one downloads, all
// get it.
func TestFetchByManyAtOnce(t *testing.T) {
	p := newPublisher(t)
	content := payload(500_000)
	p.put(toolPath, content)
	first := newResolver(t, testCatalogue(t, p.URL, "registry.invalid"), NewUpstream())
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			store, err := OpenStore(first.Store.Root())
			if err != nil {
				t.Error(err)
				return
			}
			r := &Resolver{Catalogue: first.Catalogue, Store: store, Lock: openLockIn(first.Lock.Path(), t), Source: NewUpstream()}
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
	if left, err := os.ReadDir(first.Store.partialPath("")); err != nil || len(left) > 0 {
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
