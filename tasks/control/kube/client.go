package kube

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// Options say how to reach one API.
type Options struct {
	// URL of the API, such as https://127.0.0.1:6443. The server's certificate
	// must be valid for its host part.
	URL string
	// TLS has the authority to trust and the client's certificate.
	TLS *tls.Config
	// Dial opens connections; nil means the network of this process.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Another is called when the server that answers is in trouble, so that
	// the next Dial may choose another one; may be nil.
	Another func()
	// Patience is how long one request is tried again while the API does not
	// answer or is starting; default 30 s. Negative means once.
	Patience time.Duration
}

// Client is a client of one API, safe for concurrent use.
type Client struct {
	url      string
	http     *http.Client
	dynamic  dynamic.Interface
	kinds    *kinds
	patience time.Duration
	another  func()
}

// How soon a silent connection is found dead: a ping after 10 s of silence, and
// 5 s for its answer. client-go's own numbers (30 s, 15 s) suit watches that
// last for hours; a person waits for this one.
const (
	pingAfter   = 10 * time.Second
	pingTimeout = 5 * time.Second
)

// defaultPatience covers the restart of an API server and an election of etcd.
const defaultPatience = 30 * time.Second

// New makes a client. It does not connect yet.
func New(o Options) (*Client, error) {
	transport := &http.Transport{
		TLSClientConfig:     o.TLS,
		DialContext:         o.Dial,
		ForceAttemptHTTP2:   true,
		TLSHandshakeTimeout: 10 * time.Second,
		IdleConnTimeout:     90 * time.Second,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
	}
	httpClient := &http.Client{Transport: transport}
	config := &rest.Config{
		Host:           o.URL,
		QPS:            -1, // the server's priority and fairness limits, not the client
		UserAgent:      "deployer",
		WarningHandler: rest.NoWarnings{},
	}
	objects, err := dynamic.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("making a client for %s: %w", o.URL, err)
	}
	c := &Client{url: strings.TrimSuffix(o.URL, "/"), http: httpClient, dynamic: objects, patience: o.Patience, another: o.Another}
	if c.patience == 0 {
		c.patience = defaultPatience
	}
	c.kinds = newKinds(c)
	return c, nil
}

// WithoutRetries returns the same client with another patience.
func (c *Client) WithoutRetries(patience time.Duration) *Client {
	other := *c
	other.patience = patience
	return &other
}

// Close drops connections that are not in use.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Raw makes one plain request, without trying again, and returns the status
// and at most 1 MiB of the body. path begins with a slash.
func (c *Client) Raw(ctx context.Context, method, path string, body io.Reader) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, body)
	if err != nil {
		return 0, nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("User-Agent", "deployer")
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return resp.StatusCode, data, err
}
