package kube

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

// zeros is a body without end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

type answering func() io.Reader

func (a answering) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(a())}, nil
}

func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		body    io.Reader
		bounded bool
	}{"short": {strings.NewReader("ok"), false}, "without end": {zeros{}, true}} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://api.invalid/", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := boundedTransport{answering(func() io.Reader { return tt.body })}.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) != tt.bounded || n > maxResponse+1 {
			t.Errorf("%s: %d bytes, %v", name, n, err)
		}
	}
}
