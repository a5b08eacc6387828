package peer

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Server serves the spools of one agent to peers.
type Server struct {
	identity Identity
	http     *http.Server
	slots    chan struct{} // one token for each request that sends bytes
	rate     rate

	mu     sync.Mutex
	spools map[string]*Spool // by digest
}

// Listen starts a server at the identity's address.
func Listen(identity Identity) (*Server, error) {
	config, err := identity.tlsConfig()
	if err != nil {
		return nil, err
	}
	config.NextProtos = []string{"http/1.1"}
	listener, err := net.Listen("tcp", identity.Address)
	if err != nil {
		return nil, err
	}
	s := &Server{identity: identity, slots: make(chan struct{}, maxRequests), spools: map[string]*Spool{}, rate: rate{perSecond: identity.BytesPerSecond}}
	s.http = &http.Server{
		Handler: s, ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout, WriteTimeout: waitTimeout + stallTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader, ErrorLog: log.New(io.Discard, "", 0),
		// Without an entry for HTTP/2 the server does not offer it.
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
	}
	go func() { _ = s.http.Serve(tls.NewListener(newBoundedListener(listener), config)) }()
	return s, nil
}

// Close ends all connections.
func (s *Server) Close() { _ = s.http.Close() }

// Share serves a spool from now on.
func (s *Server) Share(spool *Spool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spools[spool.Digest] = spool
}

func (s *Server) spool(digest string) *Spool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spools[digest]
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	digest, isBlob := strings.CutPrefix(r.URL.Path, blobPath)
	ticket, hasTicket := strings.CutPrefix(r.Header.Get("Authorization"), bearer)
	if r.Method != http.MethodGet || !isBlob || !hasTicket || r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	names := r.TLS.PeerCertificates[0].DNSNames
	if len(names) != 1 || !s.identity.validTicket(ticket, names[0], digest) {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	spool := s.spool(digest)
	if spool == nil {
		w.WriteHeader(http.StatusServiceUnavailable) // the host may be about to begin
		return
	}
	chunk, err := parseRange(r.Header.Get("Range"), spool.Manifest)
	if err != nil {
		w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
		return
	}
	s.send(w, r, spool, chunk)
}

const (
	blobPath = "/blob/"
	bearer   = "Bearer "
)

// parseRange returns the chunk of a range of bytes, which is exactly one.
func parseRange(header string, m Manifest) (int, error) {
	var first, last int64
	if _, err := fmt.Sscanf(header, "bytes=%d-%d", &first, &last); err != nil {
		return 0, err
	}
	chunk := int(first / ChunkSize)
	if first < 0 || first%ChunkSize != 0 || first >= m.Size || last != first+m.length(chunk)-1 {
		return 0, errors.New("the range is not one chunk")
	}
	return chunk, nil
}

// send sends one chunk, when it is there in time.
func (s *Server) send(w http.ResponseWriter, r *http.Request, spool *Spool, chunk int) {
	ctx, stop := context.WithTimeout(r.Context(), waitTimeout)
	defer stop()
	ready, err := spool.wait(chunk, ctx.Done())
	if err != nil || !ready {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	size := spool.length(chunk)
	w.Header().Set("Content-Type", "application/zstd")
	w.Header().Set("Content-Length", fmt.Sprint(size))
	w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", int64(chunk)*ChunkSize, int64(chunk)*ChunkSize+size-1, spool.Size))
	w.WriteHeader(http.StatusPartialContent)
	_ = s.copyChunk(w, r.Context(), spool, chunk)
}

// part is the number of bytes that are sent between two looks at the rate.
const part = 256 << 10

func (s *Server) copyChunk(w http.ResponseWriter, ctx context.Context, spool *Spool, chunk int) error {
	body := io.NewSectionReader(spool.file, int64(chunk)*ChunkSize, spool.length(chunk))
	deadline := http.NewResponseController(w)
	for {
		if err := s.rate.wait(ctx, part); err != nil {
			return err
		}
		if err := deadline.SetWriteDeadline(time.Now().Add(stallTimeout)); err != nil {
			return err
		}
		if n, err := io.CopyN(w, body, part); err != nil || n < part {
			return err
		}
	}
}

// boundedListener accepts a limited number of connections at a time.
type boundedListener struct {
	net.Listener
	slots chan struct{}
}

func newBoundedListener(l net.Listener) *boundedListener {
	return &boundedListener{Listener: l, slots: make(chan struct{}, maxConnections)}
}

// Accept implements net.Listener. It closes connections beyond the limit, so that clients look for
// another source at once.
func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.slots <- struct{}{}:
			return &boundedConn{Conn: conn, free: sync.OnceFunc(func() { <-l.slots })}, nil
		default:
			_ = conn.Close()
		}
	}
}

type boundedConn struct {
	net.Conn
	free func()
}

// Close implements net.Conn.
func (c *boundedConn) Close() error {
	c.free()
	return c.Conn.Close()
}
