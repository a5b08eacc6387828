package images

import (
	"errors"
	"strings"
	"sync"
	"testing"
)

func TestFromAddress(t *testing.T) {
	p := newPublisher(t)
	content := payload(300_000)
	p.put(toolPath, content)
	store, err := OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 8 { // as when several hosts request it
		group.Go(func() {
			blob, err := store.FromAddress(t.Context(), p.URL+toolPath, hexOf(content))
			if err != nil {
				t.Error(err)
				return
			}
			checkBlob(t, blob, content)
		})
	}
	group.Wait()
	p.Close() // stored content needs no network
	if _, err := store.FromAddress(t.Context(), p.URL+toolPath, hexOf(content)); err != nil {
		t.Error(err)
	}
}

func TestFromAddressRefuses(t *testing.T) {
	p := newPublisher(t)
	p.put(toolPath, []byte("other"))
	store, err := OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	digest := hexOf([]byte("wanted"))
	if _, err := store.FromAddress(t.Context(), p.URL+toolPath, digest); !errors.Is(err, ErrMismatch) {
		t.Errorf("other content: %v", err)
	}
	for address, want := range map[string]string{"ftp://x/y": "not an http or https address", "x": "not an http", p.URL + "/none": "404"} {
		if _, err := store.FromAddress(t.Context(), address, digest); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
	}
	if _, err := store.FromAddress(t.Context(), p.URL+toolPath, strings.ToUpper(digest)); err == nil || !strings.Contains(err.Error(), "lower-case hex") {
		t.Errorf("upper case: %v", err)
	}
}
