package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// client is one program with a connection of its own to the API, as a kubelet or a kube-proxy. All of its
// requests and watches share the connection (HTTP/2).
type client struct {
	url      string
	http     *http.Client
	counters *counters

	mu      sync.Mutex
	address string // address:port of the API proxy
	conns   map[net.Conn]bool
}

// newClient returns a client with the times of client-go (k8s.io/apimachinery, util/net/http.go, and
// k8s.io/client-go, transport/cache.go): a connection on which nothing arrives for 30 s is pinged, and
// given up 15 s later. As in client-go, TLS sessions are not resumed.
func newClient(address string, config *tls.Config, counters *counters) *client {
	config = config.Clone()
	config.ServerName = serverName
	config.NextProtos = []string{"h2"}
	config.VerifyConnection = func(tls.ConnectionState) error {
		counters.handshakes.Add(1)
		return nil
	}
	c := &client{url: "https://" + serverName, counters: counters, address: address, conns: map[net.Conn]bool{}}
	c.http = &http.Client{Transport: &http.Transport{
		DialContext: c.dial, TLSClientConfig: config, TLSHandshakeTimeout: 10 * time.Second,
		IdleConnTimeout: 90 * time.Second, ForceAttemptHTTP2: true,
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}}
	return c
}

// serverName is the name in the certificates of API servers, at whatever address they are.
const serverName = "kubernetes.default.svc"

// dial connects to the API proxy.
func (c *client) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	c.mu.Lock()
	address := c.address
	c.mu.Unlock()
	conn, err := (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conns[conn] = true
	return &trackedConn{Conn: conn, client: c}, nil
}

// trackedConn is a connection that its client knows while it is open.
type trackedConn struct {
	net.Conn
	client *client
}

func (t *trackedConn) Close() error {
	t.client.mu.Lock()
	delete(t.client.conns, t.Conn)
	t.client.mu.Unlock()
	return t.Conn.Close()
}

// move closes all connections; the next ones are to another API proxy.
func (c *client) move(address string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.address = address
	for conn := range c.conns {
		_ = conn.Close()
	}
}

// statusError is the answer of an API server to a request that it did not serve.
type statusError struct {
	code int
	text string
}

func (e *statusError) Error() string { return fmt.Sprintf("%d: %s", e.code, e.text) }

// send sends a request. The caller closes the body of the answer. A status of 400 and above is a statusError.
func (c *client) send(ctx context.Context, method, path, accept, content string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", accept)
	if content != "" {
		req.Header.Set("Content-Type", content)
	}
	req.Header.Set("User-Agent", "bench-scale")
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= http.StatusBadRequest {
		defer resp.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 300))
		return nil, &statusError{code: resp.StatusCode, text: string(text)}
	}
	return resp, nil
}

const (
	jsonType  = "application/json"
	protoType = "application/vnd.kubernetes.protobuf"
	patchType = "application/strategic-merge-patch+json"
)

// do sends an object in JSON, unless it is nil, and decodes the answer into `into`; nil: the answer is
// read in protobuf and discarded.
func (c *client) do(ctx context.Context, method, path, content string, object, into any) error {
	var body []byte
	var err error
	if object != nil {
		if body, err = json.Marshal(object); err != nil {
			return err
		}
	}
	accept := jsonType
	if into == nil {
		accept = protoType + ", " + jsonType
	}
	resp, err := c.send(ctx, method, path, accept, content, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if into == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		return err
	}
	return json.NewDecoder(resp.Body).Decode(into)
}
