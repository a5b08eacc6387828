package kube

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// API is a client of the API server.
type API struct {
	url   string
	agent string
	http  *http.Client
}

// NewAPI returns a client of the API server at url that identifies itself as agent.
func NewAPI(url, agent string, config *tls.Config) *API {
	return &API{url: url, agent: agent, http: &http.Client{Transport: &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}}}
}

// Do sends a request with a body in JSON, unless it is nil, and decodes the answer into
// `into`, unless that is nil.
func (a *API) Do(ctx context.Context, method, path string, body, into any) error {
	resp, err := a.Send(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if into == nil {
		_, err = io.Copy(io.Discard, resp.Body)
	} else {
		err = json.NewDecoder(resp.Body).Decode(into)
	}
	if err != nil {
		return fmt.Errorf("%s %s: reading the answer: %w", method, path, err)
	}
	return nil
}

// Send sends a request with a body in JSON, unless it is nil, and returns the answer, whose body the
// caller closes. A status of 400 and above is an error.
func (a *API) Send(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var content bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&content).Encode(body); err != nil {
			return nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, a.url+path, &content)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", a.agent)
	resp, err := a.http.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= http.StatusBadRequest {
		defer resp.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
		return nil, fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, text)
	}
	return resp, nil
}

// Ready succeeds when the API server serves all requests.
func (a *API) Ready(ctx context.Context) error { return a.Do(ctx, http.MethodGet, "/readyz", nil, nil) }

// watchEvent is one change of an object of type T.
type watchEvent[T any] struct {
	Type   string `json:"type"` // ADDED, MODIFIED, DELETED, BOOKMARK, ERROR
	Object T      `json:"object"`
}

// versioned is the part of a list or an object that has its version.
type versioned struct {
	Metadata struct {
		ResourceVersion string `json:"resourceVersion"`
	} `json:"metadata"`
}

// Watch lists the objects of a path and then follows every change of them, in the order in
// which etcd has it, until ctx ends. Each object of the list is an ADDED event. An
// interrupted watch continues behind the last event, so that no event is missed; when the
// API server cannot do that, Watch fails.
func Watch[T any](ctx context.Context, a *API, path string, handle func(kind string, object T)) error {
	var list struct {
		versioned
		Items []T `json:"items"`
	}
	if err := a.Do(ctx, http.MethodGet, path, nil, &list); err != nil {
		return err
	}
	for _, o := range list.Items {
		handle("ADDED", o)
	}
	version := list.Metadata.ResourceVersion
	for ctx.Err() == nil {
		if err := follow(ctx, a, path, &version, handle); err != nil && ctx.Err() == nil {
			return fmt.Errorf("watching %s: %w", path, err)
		}
	}
	return nil
}

// follow handles the events behind a version until the connection ends, and sets version to
// that of the last event.
func follow[T any](ctx context.Context, a *API, path string, version *string, handle func(kind string, object T)) error {
	resp, err := a.Send(ctx, http.MethodGet, path+"?watch=1&allowWatchBookmarks=true&resourceVersion="+*version, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	for events := json.NewDecoder(resp.Body); ; {
		var raw watchEvent[json.RawMessage]
		if err := events.Decode(&raw); err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				time.Sleep(100 * time.Millisecond)
				return nil
			}
			return err
		}
		if raw.Type == "ERROR" {
			return fmt.Errorf("events are missing: %s", raw.Object)
		}
		var at versioned
		if err := json.Unmarshal(raw.Object, &at); err != nil {
			return err
		}
		*version = at.Metadata.ResourceVersion
		if raw.Type == "BOOKMARK" {
			continue
		}
		var object T
		if err := json.Unmarshal(raw.Object, &object); err != nil {
			return err
		}
		handle(raw.Type, object)
	}
}
