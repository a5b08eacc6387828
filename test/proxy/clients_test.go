//go:build lab

package proxy

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"deployer/test/harness"
)

// The objects of the clients, which are ConfigMaps.
const (
	namespace = "default"
	path      = "/api/v1/namespaces/" + namespace + "/configmaps"
	quiet     = "quiet"   // has a watch on it, and no events
	watched   = "watched" // has many watches on it
	called    = "called"  // is read and written
)

// local is the address of the API proxy on each minion.
const local = "127.0.0.1:6443"

// clients connect through the API proxies of minions, as the administrator. Each master has a
// certificate of its own, so a connection shows which one it has reached.
type clients struct {
	site    *harness.Site
	tls     *tls.Config
	masters map[[sha256.Size]byte]string // by certificate
}

func newClients(s *harness.Site) *clients {
	s.T.Helper()
	const pki = "/etc/kubernetes/pki/"
	pair, err := tls.X509KeyPair([]byte(s.Shell("m1", "cat "+pki+"admin.crt")), []byte(s.Shell("m1", "cat "+pki+"admin.key")))
	if err != nil {
		s.T.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(s.Shell("m1", "cat "+pki+"ca.crt")))
	c := &clients{
		site: s, masters: map[[sha256.Size]byte]string{},
		tls: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, Certificates: []tls.Certificate{pair}, ServerName: "127.0.0.1"},
	}
	for _, m := range []string{"m1", "m2", "m3"} {
		conn, err := s.DialFrom(s.T.Context(), m, "tcp", local)
		if err != nil {
			s.T.Fatal(err)
		}
		secure := tls.Client(conn, c.tls)
		if err := secure.HandshakeContext(s.T.Context()); err != nil {
			s.T.Fatal(err)
		}
		c.masters[sha256.Sum256(secure.ConnectionState().PeerCertificates[0].Raw)] = m
		_ = conn.Close()
	}
	for _, object := range []string{quiet, watched, called} {
		s.Kubectl("m1", "-n "+namespace+" create configmap "+object)
	}
	return c
}

// connect opens a connection through the proxy of a minion, and returns the master that it reaches.
func (c *clients) connect(ctx context.Context, minion string) (*tls.Conn, string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	conn, err := c.site.DialFrom(ctx, minion, "tcp", local)
	if err != nil {
		return nil, "", err
	}
	secure := tls.Client(conn, c.tls)
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, "", errors.Join(err, conn.Close())
	}
	return secure, c.masters[sha256.Sum256(secure.ConnectionState().PeerCertificates[0].Raw)], nil
}

// reach returns the master that a new connection reaches.
func (c *clients) reach(ctx context.Context, minion string) (string, error) {
	conn, master, err := c.connect(ctx, minion)
	if err != nil {
		return "", err
	}
	return master, conn.Close()
}

// watch is an open watch on a connection of its own, by HTTP/1.1: unlike HTTP/2 it sends nothing
// while it is idle.
type watch struct {
	master string
	opened time.Time
	conn   net.Conn
	ended  chan struct{}

	mu   sync.Mutex
	last time.Time // of the last event
	at   time.Time // of its end
	err  error     // io.EOF when the server has ended the response in order
}

// watches opens watches of one object through the proxy of a minion, some in parallel. It also returns those that
// are open when one fails.
func (c *clients) watches(ctx context.Context, minion string, n int) ([]*watch, error) {
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		out   []*watch
		first error
	)
	slots := make(chan struct{}, 20)
	for range n {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			w, err := c.watch(ctx, minion, watched)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				first = cmp.Or(first, err)
				return
			}
			out = append(out, w)
		})
	}
	wg.Wait()
	return out, first
}

// watch opens a watch of an object.
func (c *clients) watch(ctx context.Context, minion, object string) (*watch, error) {
	conn, master, err := c.connect(ctx, minion)
	if err != nil {
		return nil, err
	}
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	_, err = fmt.Fprintf(conn, "GET %s?watch=true&timeoutSeconds=3000&fieldSelector=metadata.name=%s HTTP/1.1\r\nHost: %s\r\n\r\n", path, object, local)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	response, err := http.ReadResponse(bufio.NewReaderSize(conn, 4096), nil) //nolint:bodyclose // it ends with the connection
	if err == nil && response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 500))
		err = fmt.Errorf("%s: %s", response.Status, text)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("watch through %s on %s: %w", minion, master, err), conn.Close())
	}
	_ = conn.SetDeadline(time.Time{})
	w := &watch{master: master, opened: time.Now(), conn: conn, ended: make(chan struct{})}
	go w.read(response.Body)
	return w, nil
}

func (w *watch) read(body io.Reader) {
	buffer := make([]byte, 4096)
	for {
		n, err := body.Read(buffer)
		w.mu.Lock()
		if n > 0 {
			w.last = time.Now()
		}
		if err != nil {
			w.at, w.err = time.Now(), err
			w.mu.Unlock()
			close(w.ended)
			return
		}
		w.mu.Unlock()
	}
}

func (w *watch) close() { _ = w.conn.Close() }

func closeAll(watches []*watch) {
	for _, w := range watches {
		w.close()
	}
}

// over reports whether the watch has ended.
func (w *watch) over() bool {
	select {
	case <-w.ended:
		return true
	default:
		return false
	}
}

func (w *watch) end() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

func (w *watch) endedAt() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at
}

// complete reports whether the server has ended the watch in order.
func (w *watch) complete() bool { return errors.Is(w.end(), io.EOF) }

// sawEvent reports whether an event has come within the last 10 s.
func (w *watch) sawEvent() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Since(w.last) < 10*time.Second
}

// alive changes the object, and returns an error unless the watch shows it.
func (w *watch) alive(change func()) error {
	if w.over() {
		return fmt.Errorf("it has ended after %s: %w", w.endedAt().Sub(w.opened).Round(time.Second), w.end())
	}
	began := time.Now()
	change()
	for time.Since(began) < 10*time.Second {
		w.mu.Lock()
		shown := w.last.After(began)
		w.mu.Unlock()
		if shown {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return errors.New("it does not show an event")
}

// watchOn opens a watch of an object that reaches a master.
func (s *site) watchOn(minion, master, object string) *watch {
	s.T.Helper()
	for range 20 {
		w, err := s.clients.watch(s.T.Context(), minion, object)
		if err != nil {
			s.T.Fatal(err)
		}
		if w.master == master {
			return w
		}
		defer w.close() // not before the next one is open, which therefore reaches another master
	}
	s.T.Fatalf("no connection through %s reaches %s", minion, master)
	return nil
}

// callers make requests until they are stopped.
type callers struct {
	quit  chan struct{}
	wg    sync.WaitGroup
	mu    sync.Mutex
	calls int
	again int // that were made again, as the server had asked
	fails int
	first string
}

// call starts clients on minions, each making a read and a write in turn: four on connections that
// they keep, by HTTP/2 as all clients of Kubernetes do, and two with a connection for each request.
func (c *clients) call(minions ...string) *callers {
	k := &callers{quit: make(chan struct{})}
	for _, minion := range minions {
		for i := range 6 {
			transport := &http.Transport{
				TLSClientConfig: c.tls.Clone(), ForceAttemptHTTP2: true, DisableKeepAlives: i < 2,
				DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
					return c.site.DialFrom(ctx, minion, network, address)
				},
			}
			k.wg.Go(func() { k.loop(&http.Client{Transport: transport, Timeout: 15 * time.Second}) })
		}
	}
	return k
}

func (k *callers) loop(client *http.Client) {
	defer client.CloseIdleConnections()
	for i := 0; ; i++ {
		select {
		case <-k.quit:
			return
		case <-time.After(50 * time.Millisecond):
		}
		err := k.request(client, i)
		for errors.Is(err, errRetryAfter) {
			k.mu.Lock()
			k.again++
			k.mu.Unlock()
			time.Sleep(time.Second)
			err = k.request(client, i)
		}
		k.mu.Lock()
		k.calls++
		if err != nil {
			k.fails++
			if k.first == "" {
				k.first = fmt.Sprintf("%s: %v", time.Now().Format("15:04:05.000"), err)
			}
		}
		k.mu.Unlock()
	}
}

// errRetryAfter is an answer that asks the client to make the request again.
var errRetryAfter = errors.New("503 with Retry-After")

func (k *callers) request(client *http.Client, i int) error {
	method, body := http.MethodGet, ""
	if i%2 == 1 {
		method, body = http.MethodPatch, fmt.Sprintf(`{"data":{"n":"%d"}}`, i)
	}
	request, err := http.NewRequestWithContext(context.Background(), method, "https://"+local+path+"/"+called, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/merge-patch+json")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if response.StatusCode == http.StatusServiceUnavailable && response.Header.Get("Retry-After") != "" {
		return errRetryAfter
	}
	if err == nil && response.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("%s: %.200s", response.Status, text)
	}
	return err
}

// stop ends the callers, and returns the numbers of requests, of those that were made again and of
// those that failed, and the first error.
func (k *callers) stop() (calls, again, failed int, first string) {
	close(k.quit)
	k.wg.Wait()
	return k.calls, k.again, k.fails, k.first
}
