package main

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"syscall"
	"time"
)

// watcher follows the objects of a path as a reflector of client-go v0.36 does (tools/cache/reflector.go): it
// begins with a watch that sends all objects first (WatchList), and continues a watch that has ended behind
// the last version that it knows from events and bookmarks. When it cannot connect it begins again, except
// when the connection is refused or the API server has too much to do.
type watcher struct {
	client *client
	path   string // with the query that selects objects, or "?"
	synced func() // is called after the first time that all objects are there
}

// The times of client-go: a watch lasts 5 to 10 minutes, and the wait after a failure grows from 0.8 to 30 s.
const (
	minWatchTime = 5 * time.Minute
	firstBackoff = 800 * time.Millisecond
	lastBackoff  = 30 * time.Second
)

// run follows the objects until ctx ends.
func (w *watcher) run(ctx context.Context) {
	version, backoff := "", firstBackoff
	for ctx.Err() == nil {
		err := w.follow(ctx, &version)
		if err == nil {
			backoff = firstBackoff
			continue
		}
		if ctx.Err() != nil {
			return
		}
		if version != "" && !retriable(err) {
			version = ""
		}
		select {
		case <-ctx.Done():
		case <-time.After(backoff + rand.N(backoff)):
		}
		backoff = min(2*backoff, lastBackoff)
	}
}

// retriable reports whether a watch that could not be opened is continued where it was.
func retriable(err error) bool {
	var status *statusError
	if errors.As(err, &status) {
		return status.code == http.StatusTooManyRequests || status.code == http.StatusInternalServerError
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// follow opens one watch and reads it until it ends. An error says that it could not be opened, or that
// version is too old.
func (w *watcher) follow(ctx context.Context, version *string) error {
	seconds := int(minWatchTime.Seconds() * (1 + rand.Float64()))
	query := "&watch=true&allowWatchBookmarks=true&timeoutSeconds=" + itoa(seconds)
	initial := *version == ""
	if initial {
		query += "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
		w.client.counters.lists.Add(1)
	} else {
		query += "&resourceVersion=" + *version
	}
	resp, err := w.client.send(ctx, http.MethodGet, w.path+query, protoType+";stream=watch", "", nil)
	if err != nil {
		w.count(ctx, err)
		return err
	}
	defer resp.Body.Close()
	if kind := resp.Header.Get("Content-Type"); !strings.HasPrefix(kind, protoType) {
		return errors.New("the API server answers a watch with " + kind)
	}
	w.client.counters.opened.Add(1)
	if !initial {
		w.client.counters.open.Add(1)
	}
	defer func() {
		if !initial {
			w.client.counters.open.Add(-1)
		}
	}()
	for buffer := []byte(nil); ; {
		var event watchEvent
		event, buffer, err = readFrame(resp.Body, buffer)
		if err != nil {
			if !errors.Is(err, io.EOF) && ctx.Err() == nil {
				w.client.counters.cut.Add(1)
			}
			return nil
		}
		if event.kind == "ERROR" {
			err := &statusError{code: event.code, text: "error in a watch"}
			w.count(ctx, err)
			return err
		}
		// The versions of the first objects are in no order; the bookmark behind them counts.
		if initial && event.kind == "BOOKMARK" {
			initial = false
			w.client.counters.open.Add(1)
			if w.synced != nil {
				w.synced()
				w.synced = nil
			}
		}
		if !initial && event.version != "" {
			*version = event.version
		}
		if cap(buffer) > 64<<10 { // one large object must not cost memory in each of thousands of watches
			buffer = nil
		}
	}
}

// count counts a request that failed.
func (w *watcher) count(ctx context.Context, err error) {
	var status *statusError
	switch {
	case ctx.Err() != nil:
	case errors.As(err, &status) && status.code == http.StatusTooManyRequests:
		w.client.counters.refused.Add(1)
	default:
		w.client.counters.failed.Add(1)
	}
}
