package noderenewal

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"deployer/engine/sanitize"
	"deployer/keeper/apiaccess"
)

// api is the API of Kubernetes with the rights of a kubelet. The library for it has several times the size of
// the agent.
type api struct {
	server string
	client *http.Client
}

const (
	requestTimeout = 20 * time.Second
	maxAnswer      = 1 << 20 // bytes
	requestsPath   = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
)

func newAPI(node apiaccess.Node) (*api, error) {
	config, dial, err := node.Connection()
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{TLSClientConfig: config, DialContext: dial, TLSHandshakeTimeout: 10 * time.Second}
	return &api{strings.TrimSuffix(node.Server, "/"), &http.Client{Transport: transport, Timeout: requestTimeout}}, nil
}

// apiError is a refusal of the API.
type apiError struct {
	Code    int
	Message string
}

func (e *apiError) Error() string { return fmt.Sprintf("the API answers %d: %s", e.Code, e.Message) }

// final reports whether a repetition has the same result.
func (e *apiError) final() bool {
	return e.Code >= 400 && e.Code < 500 && e.Code != http.StatusRequestTimeout && e.Code != http.StatusTooManyRequests
}

// send sends one request, and decodes the answer into out unless that is nil. A status of 400 or more is an *apiError.
func (a *api) send(ctx context.Context, method, path, kind string, in, out any) error {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, a.server+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "deployer-agent")
	if in != nil {
		req.Header.Set("Content-Type", kind)
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return err
	}
	if resp.StatusCode >= 400 {
		var status struct{ Message string }
		_ = json.Unmarshal(text, &status) // else the code has to do
		return &apiError{resp.StatusCode, sanitize.Text(status.Message)}
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(text, out)
}

const (
	plainJSON  = "application/json"
	mergePatch = "application/merge-patch+json"
)

func (a *api) create(ctx context.Context, r signingRequest) (signingRequest, error) {
	var created signingRequest
	err := a.send(ctx, http.MethodPost, requestsPath, plainJSON, r, &created)
	return created, err
}

func (a *api) request(ctx context.Context, name string) (signingRequest, error) {
	var found signingRequest
	err := a.send(ctx, http.MethodGet, requestsPath+"/"+url.PathEscape(name), "", nil, &found)
	return found, err
}

// annotation returns an annotation of a Node; empty without one.
func (a *api) annotation(ctx context.Context, node, key string) (string, error) {
	var n struct{ Metadata metadata }
	err := a.send(ctx, http.MethodGet, nodePath(node), "", nil, &n)
	return n.Metadata.Annotations[key], err
}

// annotate sets an annotation of a Node; empty removes it.
func (a *api) annotate(ctx context.Context, node, key, value string) error {
	annotations := map[string]any{key: nil}
	if value != "" {
		annotations[key] = value
	}
	return a.send(ctx, http.MethodPatch, nodePath(node), mergePatch, map[string]any{"metadata": map[string]any{"annotations": annotations}}, nil)
}

func nodePath(node string) string { return "/api/v1/nodes/" + url.PathEscape(node) }
