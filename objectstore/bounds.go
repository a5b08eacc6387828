package objectstore

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode"
)

// The bounds of what is taken from a store, which is not trusted. A page of a list has at most
// 1000 objects, whose names have at most 1024 bytes (docs.aws.amazon.com/AmazonS3,
// ListObjectsV2 and "Naming objects").
const (
	maxListed      = 100_000         // objects of a list
	maxPages       = 1_000           // pages of a list; stores may send pages that are not full
	maxPageBytes   = 8 << 20         // of a page, and of every other answer that is no object
	listTimeout    = 5 * time.Minute // for a whole list
	slowestBytes   = 16 << 10        // per second, on average over slowestSpan
	slowestSpan    = 2 * time.Minute // longer than idleTimeout
	maxMessageText = 300             // characters of a store's own message that are shown
)

// misbehavior is an answer that no store gives which works.
type misbehavior string

func (m misbehavior) Error() string { return "the store does not behave as one: " + string(m) }

// listing counts the pages of one list, in the context of its requests: the client library asks
// for as many pages as the store announces.
type listing struct{ tokens map[string]bool }

type listingKey struct{}

func withListing(ctx context.Context) context.Context {
	return context.WithValue(ctx, listingKey{}, &listing{map[string]bool{}})
}

// check returns an error for a page that was asked for already, and for too many pages.
func (l *listing) check(request *http.Request) error {
	token := request.URL.Query().Get("continuation-token")
	switch {
	case l.tokens[token]:
		return misbehavior("it sends the same page of the list again")
	case len(l.tokens) == maxPages:
		return misbehavior(fmt.Sprintf("it sends more than %d pages of a list", maxPages))
	}
	l.tokens[token] = true
	return nil
}

// boundedTransport bounds the pages of lists, the size of answers that are no object, and the time
// of all answers.
type boundedTransport struct {
	http.RoundTripper
	span time.Duration // over which the rate of an answer is measured
}

func (t *boundedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	list, isList := request.Context().Value(listingKey{}).(*listing)
	if isList {
		if err := list.check(request); err != nil {
			return nil, err
		}
	}
	answer, err := t.RoundTripper.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	answer.Body = &steadyBody{ReadCloser: answer.Body, span: t.span, since: time.Now()}
	object := request.Method == http.MethodGet && !isList && !request.URL.Query().Has("uploads")
	if !object || answer.StatusCode >= http.StatusMultipleChoices {
		answer.Body = &boundedBody{ReadCloser: answer.Body, left: maxPageBytes}
	}
	return answer, nil
}

// boundedBody is the body of an answer that is kept in memory.
type boundedBody struct {
	io.ReadCloser
	left int64
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, misbehavior(fmt.Sprintf("its answer has more than %d MiB", int64(maxPageBytes)>>20))
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	return n, err
}

// steadyBody is a body that fails when the content comes too slowly. A connection without any byte
// fails by itself after idleTimeout.
type steadyBody struct {
	io.ReadCloser
	span  time.Duration
	since time.Time
	bytes int64 // since then
}

func (s *steadyBody) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	s.bytes += int64(n)
	if passed := time.Since(s.since); passed >= s.span {
		if err == nil && float64(s.bytes) < slowestBytes*passed.Seconds() {
			return n, misbehavior(fmt.Sprintf("it sends less than %d KiB a second: %d bytes in %s", slowestBytes>>10, s.bytes, passed.Round(time.Second)))
		}
		s.since, s.bytes = time.Now(), 0
	}
	return n, err
}

// printable returns a text of the store for people: without control characters, and not longer
// than a line.
func printable(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
	if runes := []rune(text); len(runes) > maxMessageText {
		text = string(runes[:maxMessageText]) + "..."
	}
	return text
}
