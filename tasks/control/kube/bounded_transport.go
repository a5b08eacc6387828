package kube

import "net/http"

// maxResponse is the maximum size of a response of an API server, in bytes. The largest
// response that deployer requests is the list of nodes with their images: about 30 MB for a
// thousand nodes.
const maxResponse = 256 << 20

// boundedTransport fails the read of a response that exceeds maxResponse, so that a host
// that impersonates an API server cannot exhaust the controller's memory.
type boundedTransport struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t boundedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	if err == nil {
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxResponse)
	}
	return resp, err
}

// CloseIdleConnections closes the idle connections of the wrapped transport, for
// http.Client.CloseIdleConnections.
func (t boundedTransport) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
