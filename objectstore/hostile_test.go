package objectstore

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// hostile returns a client of a store that answers as the handler does.
func hostile(t *testing.T, handler http.HandlerFunc) *Store {
	t.Helper()
	withoutAWS(t)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return open(t, Config{Endpoint: server.URL, Region: "us-east-1", AccessKey: "a", SecretKey: "s"})
}

// page is an answer to a list.
func page(next string, keys ...string) string {
	var out strings.Builder
	out.WriteString(`<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">`)
	for _, key := range keys {
		fmt.Fprintf(&out, "<Contents><Key>%s</Key><LastModified>2026-11-27T00:00:00Z</LastModified><Size>1</Size></Contents>", key)
	}
	if next != "" {
		fmt.Fprintf(&out, "<IsTruncated>true</IsTruncated><NextContinuationToken>%s</NextContinuationToken>", next)
	}
	out.WriteString("</ListBucketResult>")
	return out.String()
}

// TestListOfAHostileStore: a list ends whatever the store sends, with an error that says what is
// wrong.
func TestListOfAHostileStore(t *testing.T) {
	full := make([]string, 1000)
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter, request int)
		want   string
	}{
		"the same page again":     {func(w http.ResponseWriter, _ int) { _, _ = io.WriteString(w, page("again", "p/a.db")) }, "the same page"},
		"empty pages that repeat": {func(w http.ResponseWriter, _ int) { _, _ = io.WriteString(w, page("again")) }, "the same page"},
		"endless pages":           {func(w http.ResponseWriter, n int) { _, _ = io.WriteString(w, page(fmt.Sprint("t", n))) }, "more than 1000 pages"},
		"endless objects": {func(w http.ResponseWriter, n int) {
			keys := full
			for i := range keys {
				keys[i] = fmt.Sprintf("p/%d-%d.db", n, i)
			}
			_, _ = io.WriteString(w, page(fmt.Sprint("t", n), keys...))
		}, "more than 100000 objects"},
		"an endless page": {func(w http.ResponseWriter, _ int) {
			_, _ = io.WriteString(w, "<ListBucketResult>")
			for line := strings.Repeat("<Contents><Key>p/x</Key></Contents>", 1000); ; {
				if _, err := io.WriteString(w, line); err != nil {
					return
				}
			}
		}, "more than 8 MiB"},
		"an object elsewhere": {func(w http.ResponseWriter, _ int) { _, _ = io.WriteString(w, page("", "other/a.db")) }, `"other/a.db"`},
		"an error with escapes": {func(w http.ResponseWriter, _ int) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, "<Error><Code>AccessDenied</Code><Message>no&#10;\u009b2J"+strings.Repeat("x", 1000)+"</Message></Error>")
		}, "no??2Jxxx"},
	} {
		t.Run(name, func(t *testing.T) {
			requests := 0
			store := hostile(t, func(w http.ResponseWriter, _ *http.Request) {
				requests++
				c.answer(w, requests)
			})
			list, err := store.List(t.Context(), Location{"backups", "p"})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%d objects, %v; want %q", len(list), err, c.want)
			}
			if strings.ContainsAny(err.Error(), "\n\u009b") || len(err.Error()) > 800 {
				t.Errorf("the error is not a line for people: %q", err)
			}
		})
	}
}

// TestDownloadOfAHostileStore: an object that is larger than it may be, that is larger than it says,
// and one that never ends, are refused and leave no file.
func TestDownloadOfAHostileStore(t *testing.T) {
	at := Location{"backups", "p/a.db"}
	head := func(w http.ResponseWriter, size int64) {
		w.Header().Set("Content-Length", fmt.Sprint(size))
		w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
		w.Header().Set("ETag", `"x"`)
	}
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter)
		want   string
	}{
		"too large": {func(w http.ResponseWriter) { head(w, 1001) }, "has 1001 bytes, and such an object has at most 1000"},
		"too slow": {func(w http.ResponseWriter) {
			head(w, 900)
			for range 50 {
				_, _ = io.WriteString(w, "x")
				_ = http.NewResponseController(w).Flush()
				time.Sleep(20 * time.Millisecond)
			}
		}, "less than 16 KiB a second"},
		"cut": {func(w http.ResponseWriter) { head(w, 900); _, _ = io.WriteString(w, "x") }, "reading s3://backups/p/a.db"},
	} {
		t.Run(name, func(t *testing.T) {
			store := hostile(t, func(w http.ResponseWriter, _ *http.Request) { c.answer(w) })
			store.transport.span = 300 * time.Millisecond
			to := filepath.Join(t.TempDir(), "a.db")
			err := store.Download(t.Context(), at, to, 1000)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if _, err := store.Read(t.Context(), at, 1000); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("in memory: %v, want %q", err, c.want)
			}
			files, err := os.ReadDir(filepath.Dir(to))
			if err != nil || len(files) > 0 {
				t.Errorf("it leaves %v, %v", files, err)
			}
		})
	}
}

// TestNotReadable: an object that does not exist is told from a store that fails.
func TestNotReadable(t *testing.T) {
	for status, want := range map[int]bool{http.StatusNotFound: true, http.StatusForbidden: true, http.StatusInternalServerError: false} {
		store := hostile(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		_, err := store.Read(t.Context(), Location{"backups", "x"}, 10)
		if NotReadable(err) != want || NotReadable(errors.Join(err)) != want {
			t.Errorf("%d: %v", status, err)
		}
	}
}
