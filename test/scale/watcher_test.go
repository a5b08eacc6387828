package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestWatcherContinuesBehindTheLastEvent serves three watches: one that ends after its first objects, one that ends
// after an event, and one whose version is too old. The watcher resumes, and then begins again.
func TestWatcherContinuesBehindTheLastEvent(t *testing.T) {
	object := func(kind, version string) []byte {
		return frame(t, kind, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version}})
	}
	answers := [][][]byte{
		{object("ADDED", "9"), object("ADDED", "3"), object("BOOKMARK", "10")},
		{object("MODIFIED", "12")},
		{frame(t, "ERROR", &metav1.Status{Code: http.StatusGone})},
		nil,
	}
	var mu sync.Mutex
	var asked []string
	done := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		from := "all"
		if version := r.URL.Query().Get("resourceVersion"); version != "" {
			from = version
		}
		asked = append(asked, from)
		w.Header().Set("Content-Type", protoType+";stream=watch")
		if len(asked) == len(answers) {
			close(done)
		}
		if len(asked) <= len(answers) {
			for _, event := range answers[len(asked)-1] {
				_, _ = w.Write(event)
			}
		}
	}))
	defer server.Close()
	var c counters
	synced := 0
	w := &watcher{client: &client{url: server.URL, http: server.Client(), counters: &c}, path: "/pods?", synced: func() { synced++ }}
	ctx := t.Context()
	version := ""
	for range answers {
		if err := w.follow(ctx, &version); err != nil && !retriable(err) {
			version = ""
		}
	}
	<-done
	if got := strings.Join(asked, " "); got != "all 10 12 all" {
		t.Errorf("watches began at %q, want all objects, 10, 12 and all objects", got)
	}
	if got := c.now(); synced != 1 || got.lists != 2 || got.opened != 4 || got.failed != 1 || c.open.Load() != 0 {
		t.Errorf("synced %d times, %+v, %d open", synced, got, c.open.Load())
	}
}

func TestRetriable(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{fmt.Errorf("dialing: %w", syscall.ECONNREFUSED), true},
		{&statusError{code: 429}, true},
		{&statusError{code: 500}, true},
		{&statusError{code: 410}, false},
		{errors.New("EOF"), false},
	} {
		if got := retriable(c.err); got != c.want {
			t.Errorf("%v: %v", c.err, got)
		}
	}
}
