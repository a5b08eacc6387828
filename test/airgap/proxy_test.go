//go:build lab

package airgap

import (
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"deployer/test/harness"
)

// proxy is an HTTP proxy for CONNECT that requires a user and a password.
type proxy struct {
	user, password string
	names          map[string]string // address to connect to, by host name with port
	dial           func(network, address string) (net.Conn, error)

	connected, refused atomic.Int32 // requests
}

// serve serves the proxy on an address of the lab until the test ends.
func (p *proxy) serve(t *testing.T, s *harness.Site, address string) {
	t.Helper()
	p.dial = func(network, to string) (net.Conn, error) { return s.Dial(t.Context(), network, to) }
	listener, err := s.Listen(address)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: p} //nolint:gosec // all clients are hosts of this test
	go func() { _ = srv.Serve(listener) }()
	t.Cleanup(func() { _ = srv.Close() })
}

// ServeHTTP connects the client to the server that it requests.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	to, known := p.names[r.Host]
	if r.Method != http.MethodConnect || !known {
		p.refused.Add(1)
		http.Error(w, "only CONNECT to the registry of the test", http.StatusForbidden)
		return
	}
	if r.Header.Get("Proxy-Authorization") != "Basic "+base64.StdEncoding.EncodeToString([]byte(p.user+":"+p.password)) {
		p.refused.Add(1)
		http.Error(w, "who are you?", http.StatusProxyAuthRequired)
		return
	}
	server, err := p.dial("tcp", to)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer server.Close()
	client, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	p.connected.Add(1)
	if _, err := client.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n")); err != nil {
		return
	}
	var both sync.WaitGroup
	copying := func(to net.Conn, from io.Reader) {
		_, _ = io.Copy(to, from) // ends when either side closes
		_ = server.Close()
		_ = client.Close()
	}
	both.Go(func() { copying(server, buffered) })
	both.Go(func() { copying(client, server) })
	both.Wait()
}
