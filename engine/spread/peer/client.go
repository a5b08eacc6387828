package peer

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"deployer/engine/spread"
)

// Peer is a source, as the controller has assigned it.
type Peer struct {
	Name    string `json:"name"` // of the host
	Address string `json:"address"`
	Ticket  string `json:"ticket"`
}

// SourceError is the failure of a peer.
type SourceError struct {
	Peer string
	Why  spread.Failure
	Err  error
}

// Error implements error.
func (e *SourceError) Error() string { return fmt.Sprintf("peer %s is %s: %v", e.Peer, e.Why, e.Err) }

// Unwrap returns the cause.
func (e *SourceError) Unwrap() error { return e.Err }

// errNotYet says that the peer does not have the chunk yet.
var errNotYet = errors.New("the peer does not have the chunk yet")

// client fetches chunks of one blob from one peer, over one connection.
type client struct {
	peer Peer
	http *http.Client
}

func newClient(identity Identity, p Peer) (*client, error) {
	config, err := identity.tlsConfig()
	if err != nil {
		return nil, err
	}
	config.ServerName = ServerName(p.Name)
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		ctx, stop := context.WithTimeout(ctx, DialTimeout)
		defer stop()
		return (&tls.Dialer{Config: config}).DialContext(ctx, network, p.Address)
	}
	transport := &http.Transport{
		DialTLSContext: dial, MaxConnsPerHost: 1, MaxResponseHeaderBytes: maxHeader, DisableCompression: true,
		ResponseHeaderTimeout: ResponseTimeout,
	}
	redirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client{peer: p, http: &http.Client{Transport: transport, CheckRedirect: redirect}}, nil
}

func (c *client) close() { c.http.CloseIdleConnections() }

// chunk fetches one chunk into buf and returns how long the transfer took from its first byte on.
// The error is errNotYet, the cause of ctx, or a *SourceError.
func (c *client) chunk(ctx context.Context, m Manifest, chunk int, buf []byte) (time.Duration, error) {
	limited, stop := context.WithTimeout(ctx, waitTimeout+ChunkTimeout)
	defer stop()
	fail := func(why spread.Failure, err error) (time.Duration, error) {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		return 0, &SourceError{Peer: c.peer.Name, Why: why, Err: err}
	}
	request, err := http.NewRequestWithContext(limited, http.MethodGet, "https://"+c.peer.Address+blobPath+m.Digest, nil)
	if err != nil {
		return fail(spread.Unreachable, err)
	}
	first := int64(chunk) * ChunkSize
	request.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", first, first+m.length(chunk)-1))
	request.Header.Set("Authorization", bearer+c.peer.Ticket)
	response, err := c.http.Do(request)
	if err != nil {
		var about *url.Error
		if errors.As(err, &about) {
			err = about.Err // the report names the peer, and the blob needs no mention
		}
		return fail(spread.Unreachable, err)
	}
	defer func() { _ = response.Body.Close() }()
	switch response.StatusCode {
	case http.StatusPartialContent:
	case http.StatusServiceUnavailable:
		return 0, errNotYet
	default:
		return fail(spread.Unreachable, fmt.Errorf("it answers %s", response.Status))
	}
	began := time.Now()
	if _, err := io.ReadFull(response.Body, buf); err != nil {
		if limited.Err() != nil {
			return fail(spread.Slow, fmt.Errorf("no whole chunk in %v", ChunkTimeout))
		}
		return fail(spread.Unreachable, err)
	}
	return time.Since(began), nil
}
