package kube

import "net/http"

// maxAnswer is the maximum size of an answer of an API server, in bytes. The largest that
// deployer asks for, the nodes of a thousand hosts with the images on them, has some 30 MB.
const maxAnswer = 256 << 20

// boundedTransport fails the read of an answer that exceeds maxAnswer, so that a host
// which passes for an API server cannot exhaust the controller's memory.
type boundedTransport struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t boundedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	if err == nil {
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxAnswer)
	}
	return resp, err
}

// CloseIdleConnections serves http.Client.CloseIdleConnections.
func (t boundedTransport) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
