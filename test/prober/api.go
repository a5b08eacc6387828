package prober

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// apiCaller makes requests to the API over connections that it keeps, as clients do.
// It closes them after a failure, like a client that is started again.
type apiCaller struct {
	target    Target
	client    Client
	transport *http.Transport
	written   int
}

func newAPICaller(target Target, client Client) *apiCaller {
	return &apiCaller{target: target, client: client}
}

func (a *apiCaller) path() string {
	return "/api/v1/namespaces/" + a.target.Namespace + "/configmaps/" + ConfigMap(a.client.Name)
}

// write changes the client's object. It may be repeated: it sets a value.
func (a *apiCaller) write(ctx context.Context) error {
	a.written++
	_, err := a.do(ctx, http.MethodPatch, a.path(), fmt.Sprintf(`{"data":{"n":"%d"}}`, a.written))
	return err
}

// read reads the client's object, from etcd and not from the API server's cache.
func (a *apiCaller) read(ctx context.Context) error {
	_, err := a.do(ctx, http.MethodGet, a.path(), "")
	return err
}

// get requests a path and decodes the answer.
func (a *apiCaller) get(ctx context.Context, path string, into any) error {
	body, err := a.do(ctx, http.MethodGet, path, "")
	if err != nil {
		return err
	}
	return json.Unmarshal(body, into)
}

func (a *apiCaller) do(ctx context.Context, method, path, body string) ([]byte, error) {
	if a.transport == nil {
		a.transport = &http.Transport{DialContext: a.client.Dial, TLSClientConfig: a.target.APITLS.Clone(), ForceAttemptHTTP2: true}
	}
	content, err := roundTrip(ctx, a.transport, method, a.target.API+path, body)
	if err != nil {
		a.transport.CloseIdleConnections()
		a.transport = nil
	}
	return content, err
}

// roundTrip makes a request and returns the body of an answer below 400.
func roundTrip(ctx context.Context, via http.RoundTripper, method, url, body string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if method == http.MethodPatch {
		request.Header.Set("Content-Type", "application/merge-patch+json")
	}
	response, err := via.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(io.LimitReader(response.Body, 8<<20))
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	if response.StatusCode >= http.StatusBadRequest {
		return nil, fmt.Errorf("%s: %.200s", response.Status, content)
	}
	return content, nil
}
