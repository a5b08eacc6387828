package resumable

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func digestOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// newPartial returns a Partial over a file with content of an earlier attempt.
func newPartial(t *testing.T, content string) *Partial {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if _, err := io.WriteString(f, content); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	p, err := NewPartial(f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// requests records the Range of each request.
type requests struct {
	mu     sync.Mutex
	ranges []string
}

func (r *requests) add(span string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ranges = append(r.ranges, span)
}

func (r *requests) list() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.ranges)
}

// download returns a Download of a server, which records its requests in seen.
func download(t *testing.T, want string, seen *requests, serve http.HandlerFunc) Download {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.add(r.Header.Get("Range"))
		serve(w, r)
	}))
	t.Cleanup(s.Close)
	return Download{Name: "the file", SHA256: digestOf(want), FirstWait: time.Millisecond, Open: func(ctx context.Context, offset int64) (Content, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)
		if err != nil {
			return Content{}, err
		}
		return Get(s.Client(), request, offset)
	}}
}

func TestInto(t *testing.T) {
	t.Parallel()
	const content = "0123456789"
	whole := func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(content))
	}
	for name, tt := range map[string]struct {
		partial string
		serve   http.HandlerFunc
		seen    []string
	}{
		"no partial file":       {"", whole, []string{""}},
		"partial file":          {"0123", whole, []string{"bytes=4-"}},
		"complete file":         {content, whole, nil},
		"part of another file":  {"xxxx", whole, []string{"bytes=4-", ""}},
		"longer than the file":  {content + "x", whole, []string{"bytes=11-", ""}},
		"server without ranges": {"0123", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, content) }, []string{"bytes=4-"}},
		"server returns another range": {"0123", func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Range") == "" {
				_, _ = io.WriteString(w, content)
				return
			}
			w.Header().Set("Content-Range", "bytes 2-9/10")
			w.WriteHeader(http.StatusPartialContent)
		}, []string{"bytes=4-", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen requests
			p := newPartial(t, tt.partial)
			if err := download(t, content, &seen, tt.serve).Into(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			if p.Digest() != digestOf(content) || p.Size() != int64(len(content)) {
				t.Errorf("%d bytes with digest %s", p.Size(), p.Digest())
			}
			if diff := cmp.Diff(tt.seen, seen.list()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestIntoFails(t *testing.T) {
	t.Parallel()
	var mismatch *MismatchError
	var status *StatusError
	for name, tt := range map[string]struct {
		serve    http.HandlerFunc
		as       any
		text     string
		requests int
	}{
		"server returns other content": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "other") }, &mismatch, "(5 bytes)", 1},
		"no such file":                 {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }, &status, "server answers 404 Not Found", 1},
		"server always returns 503":    {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, &status, "(tried 5 times)", 5},
		"connection is always closed early": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "99")
			_, _ = io.WriteString(w, "x")
		}, nil,
			"downloading the file: after 1 bytes: unexpected EOF (tried 5 times)", 5},
		"server sends no data": {func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, nil, "the download stands still for 20ms (tried 5 times)", 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen requests
			d := download(t, "content", &seen, tt.serve)
			if name == "server sends no data" {
				d.Idle = 20 * time.Millisecond
			}
			err := d.Into(t.Context(), newPartial(t, ""))
			if err == nil || !strings.Contains(err.Error(), tt.text) || tt.as != nil && !errors.As(err, tt.as) {
				t.Errorf("%v, want %q", err, tt.text)
			}
			if len(seen.list()) != tt.requests {
				t.Errorf("%d requests, want %d", len(seen.list()), tt.requests)
			}
		})
	}
}

// TestErrorOfTheFileEndsTheDownload: a full disk is not retried.
func TestErrorOfTheFileEndsTheDownload(t *testing.T) {
	t.Parallel()
	var seen requests
	d := download(t, "content", &seen, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "content") })
	p := newPartial(t, "")
	p.file = fullFile{p.file}
	if err := d.Into(t.Context(), p); !errors.Is(err, syscall.ENOSPC) || len(seen.list()) != 1 {
		t.Errorf("%v after %d requests", err, len(seen.list()))
	}
}

type fullFile struct{ File }

func (fullFile) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// TestContextEndsTheDownload: the error is the cause of the context, at once.
func TestContextEndsTheDownload(t *testing.T) {
	t.Parallel()
	var seen requests
	ctx, cancel := context.WithCancelCause(t.Context())
	d := download(t, "content", &seen, func(_ http.ResponseWriter, r *http.Request) {
		cancel(errors.New("stopped by the user"))
		<-r.Context().Done()
	})
	if err := d.Into(ctx, newPartial(t, "")); err == nil || !strings.Contains(err.Error(), "stopped by the user") || len(seen.list()) != 1 {
		t.Errorf("%v after %d requests", err, len(seen.list()))
	}
}
