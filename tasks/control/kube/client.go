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
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// Options are the settings of a [Client].
type Options struct {
	// URL of the API, such as https://127.0.0.1:6443. The server's certificate
	// must be valid for its host part.
	URL string
	// TLS contains the certificate authority of the server and the client's
	// certificate.
	TLS *tls.Config
	// Dial opens connections; default: the network of this process.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Transport returns what sends requests in place of the one that it is given, such as one that counts them; may
	// be nil.
	Transport func(http.RoundTripper) http.RoundTripper
	// SwitchServer is called before a retry, so that the next Dial may choose
	// another server; may be nil.
	SwitchServer func()
}

// Client is a client of one API, safe for concurrent use.
type Client struct {
	url          string
	http         *http.Client
	config       *rest.Config
	dynamic      dynamic.Interface
	metadata     metadata.Interface
	kinds        *kinds
	retryTimeout time.Duration
	switchServer func()
}

// The health check of HTTP/2 connections: a ping is sent after pingAfter without a
// received frame, and must be answered within pingTimeout. The defaults of client-go
// (30 s, 15 s) suit watches that last for hours; a run must detect a dead master
// sooner.
const (
	pingAfter   = 10 * time.Second
	pingTimeout = 5 * time.Second
)

// defaultRetryTimeout is the time during which one request is retried while the API does
// not respond or is starting. defaultRetryTimeout covers the restart of an API server and a leader election
// of etcd.
const defaultRetryTimeout = 30 * time.Second

// New returns a client. New opens no connection.
func New(o Options) (*Client, error) {
	transport := &http.Transport{
		TLSClientConfig:     o.TLS,
		DialContext:         o.Dial,
		ForceAttemptHTTP2:   true,
		TLSHandshakeTimeout: 10 * time.Second,
		IdleConnTimeout:     90 * time.Second,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
	}
	var sender http.RoundTripper = transport
	if o.Transport != nil {
		sender = o.Transport(transport)
	}
	httpClient := &http.Client{Transport: boundedTransport{sender}}
	config := &rest.Config{
		Host:           o.URL,
		QPS:            -1, // the server's priority and fairness limits, not the client
		UserAgent:      "deployer",
		WarningHandler: rest.NoWarnings{},
	}
	objects, err := dynamic.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("creating a client for %s: %w", o.URL, err)
	}
	heads, err := metadata.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("creating a client for %s: %w", o.URL, err)
	}
	c := &Client{url: strings.TrimSuffix(o.URL, "/"), http: httpClient, config: config, dynamic: objects, metadata: heads, retryTimeout: defaultRetryTimeout, switchServer: o.SwitchServer}
	c.kinds = newKinds(c)
	return c, nil
}

// WithRetryTimeout returns a copy of the client, on the same connections, that retries one
// request for this time while the API does not respond or is starting. The default is
// 30 s; with a negative time it does not retry.
func (c *Client) WithRetryTimeout(timeout time.Duration) *Client {
	other := *c
	other.retryTimeout = timeout
	return &other
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Raw sends one HTTP request without retries, and returns the status and at most
// 1 MiB of the body. path begins with a slash.
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
