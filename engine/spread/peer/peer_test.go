package peer_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"deployer/engine"
	"deployer/engine/spread"
	"deployer/engine/spread/peer"
	"deployer/engine/spread/tracker"
)

// site is a run with hosts on addresses of loopback and one blob.
type site struct {
	t       *testing.T
	tracker *tracker.Tracker
	content []byte // zstd form; peers do not look into it
	digest  string
}

// OpenShared implements tracker.Blobs.
func (s *site) OpenShared(digest string) (io.ReadCloser, int64, bool, error) {
	return io.NopCloser(bytes.NewReader(s.content)), int64(len(s.content)), digest == s.digest, nil
}

func newSite(t *testing.T, hosts int) *site {
	t.Helper()
	s := &site{t: t, content: make([]byte, 2*peer.ChunkSize+777)}
	_, _ = rand.NewChaCha8([32]byte{3}).Read(s.content)
	s.digest = fmt.Sprintf("%x", sha256.Sum256(s.content))
	var all []tracker.Host
	for i := range hosts {
		all = append(all, tracker.Host{Host: spread.Host{Name: fmt.Sprintf("h%d", i+1), Rack: "r"}, Address: fmt.Sprintf("127.78.0.%d", i+1)})
	}
	var err error
	s.tracker, err = tracker.New(tracker.Options{Hosts: all, Blobs: s, Port: freePort(t), BytesPerSecond: 1 << 30, Emit: func(engine.Event) {}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.78.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// identity returns what the controller sends a host, and the manifest of the blob.
func (s *site) identity(host string) (peer.Identity, peer.Manifest) {
	s.t.Helper()
	m := s.tracker.Attach(host)
	first, _, ok := m.Request(s.t.Context(), s.digest)
	if !ok {
		s.t.Fatalf("%s gets no plan", host)
	}
	var id peer.Identity
	if err := json.Unmarshal(first.Identity, &id); err != nil {
		s.t.Fatal(err)
	}
	return id, peer.Manifest{Digest: s.digest, Size: first.Size, Sums: first.Sums}
}

// node is a host with its spool.
type node struct {
	*peer.Node
	identity peer.Identity
	manifest peer.Manifest
	dir      string
}

func (s *site) join(host, dir string) *node {
	s.t.Helper()
	id, m := s.identity(host)
	n, refused, err := peer.Join(id, dir)
	if err != nil || refused != nil {
		s.t.Fatal(err, refused)
	}
	s.t.Cleanup(func() { n.Close(true) })
	return &node{Node: n, identity: id, manifest: m, dir: dir}
}

// fetch takes the blob from a source and returns its content and all reports. Without a peer the
// controller sends it.
func (s *site) fetch(ctx context.Context, n *node, plans ...peer.Plan) ([]byte, []peer.Report, error) {
	spool, err := n.Spool(n.manifest)
	if err != nil {
		s.t.Fatal(err)
	}
	reports := make(chan peer.Report, 100)
	var transfer *peer.Transfer
	ready := make(chan struct{})
	transfer = n.Fetch(ctx, spool, peer.Hooks{
		Report: func(r peer.Report) {
			reports <- r
			if r.Failed == nil {
				return
			}
			<-ready
			if plans = plans[1:]; len(plans) > 0 {
				transfer.Assign(plans[0])
			}
		},
		FromController: func(_ context.Context, offset int64) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(s.content[offset:])), nil
		},
	})
	transfer.Assign(plans[0])
	close(ready)
	got, err := io.ReadAll(spool.NewReader(ctx.Done()))
	if err == nil {
		transfer.Wait()
	}
	close(reports)
	var all []peer.Report
	for r := range reports {
		all = append(all, r)
	}
	return got, all, err
}

func (s *site) source(n *node, name, client string) peer.Plan {
	return peer.Plan{Peer: &peer.Peer{Name: name, Address: n.identity.Address, Ticket: peer.Ticket(n.identity.TicketKey, client, s.digest)}}
}

var fromController = peer.Plan{Controller: true}

// TestHostsForward checks that a blob goes from the controller to a host and from there to others.
func TestHostsForward(t *testing.T) {
	s := newSite(t, 3)
	a, b, c := s.join("h1", t.TempDir()), s.join("h2", t.TempDir()), s.join("h3", t.TempDir())
	for _, step := range []struct {
		to   *node
		from peer.Plan
	}{{a, fromController}, {b, s.source(a, "h1", "h2")}, {c, s.source(b, "h2", "h3")}} {
		got, reports, err := s.fetch(t.Context(), step.to, step.from)
		if err != nil || !bytes.Equal(got, s.content) {
			t.Fatalf("%d bytes, %v, %+v", len(got), err, reports)
		}
		if last := reports[len(reports)-1]; last.Have != 3 || last.Failed != nil {
			t.Errorf("last report %+v", last)
		}
	}
}

// TestWrongChunkIsNotUsed checks that a chunk with wrong content is neither stored nor read, that its
// sender is named, and that the rest comes from another source.
func TestWrongChunkIsNotUsed(t *testing.T) {
	s := newSite(t, 2)
	a, b := s.join("h1", t.TempDir()), s.join("h2", t.TempDir())
	if _, _, err := s.fetch(t.Context(), a, fromController); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(a.dir, s.digest), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = f.WriteAt([]byte("wrong"), peer.ChunkSize+5) // the second chunk
	_ = f.Close()
	got, reports, err := s.fetch(t.Context(), b, s.source(a, "h1", "h2"), fromController)
	if err != nil || !bytes.Equal(got, s.content) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	var failed *peer.SourceError
	for _, r := range reports {
		if r.Failed != nil {
			failed = r.Failed
			if r.Have != 1 {
				t.Errorf("the host keeps %d chunks, want the first one", r.Have)
			}
		}
	}
	if failed == nil || failed.Peer != "h1" || failed.Why != spread.Corrupt {
		t.Errorf("the failure is %+v", failed)
	}
}

// TestServerRefuses checks who gets nothing from a server.
func TestServerRefuses(t *testing.T) {
	s, other := newSite(t, 2), newSite(t, 2)
	a := s.join("h1", t.TempDir())
	if _, _, err := s.fetch(t.Context(), a, fromController); err != nil {
		t.Fatal(err)
	}
	mine, _ := s.identity("h2")
	foreign, _ := other.identity("h2")
	valid := "Bearer " + peer.Ticket(a.identity.TicketKey, "h2", s.digest)
	whole := fmt.Sprintf("bytes=0-%d", peer.ChunkSize-1)
	for name, c := range map[string]struct {
		client                       *peer.Identity
		method, path, ticket, extent string
		want                         int // 0: no answer
	}{
		"a client of this run":      {&mine, "GET", "/blob/" + s.digest, valid, whole, http.StatusPartialContent},
		"no certificate":            {nil, "GET", "/blob/" + s.digest, valid, whole, 0},
		"a client of another run":   {&foreign, "GET", "/blob/" + s.digest, valid, whole, 0},
		"no ticket":                 {&mine, "GET", "/blob/" + s.digest, "", whole, http.StatusNotFound},
		"the ticket of another":     {&mine, "GET", "/blob/" + s.digest, "Bearer " + peer.Ticket(a.identity.TicketKey, "h1", s.digest), whole, http.StatusForbidden},
		"a ticket with its own key": {&mine, "GET", "/blob/" + s.digest, "Bearer " + peer.Ticket(mine.TicketKey, "h2", s.digest), whole, http.StatusForbidden},
		"another blob":              {&mine, "GET", "/blob/" + other.digest[:63] + "0", valid, whole, http.StatusForbidden},
		"another path":              {&mine, "GET", "/", valid, whole, http.StatusNotFound},
		"another method":            {&mine, "PUT", "/blob/" + s.digest, valid, whole, http.StatusNotFound},
		"no range":                  {&mine, "GET", "/blob/" + s.digest, valid, "", http.StatusRequestedRangeNotSatisfiable},
		"a range of two chunks":     {&mine, "GET", "/blob/" + s.digest, valid, fmt.Sprintf("bytes=0-%d", 2*peer.ChunkSize-1), http.StatusRequestedRangeNotSatisfiable},
		"a range after the end":     {&mine, "GET", "/blob/" + s.digest, valid, "bytes=99999999999-99999999999", http.StatusRequestedRangeNotSatisfiable},
	} {
		t.Run(name, func(t *testing.T) {
			got := request(t, a.identity.Address, c.client, c.method, c.path, c.ticket, c.extent)
			if got != c.want {
				t.Errorf("status %d, want %d", got, c.want)
			}
		})
	}
}

// request sends one request and returns the status, 0 when the connection fails. It does not check who
// the server is.
func request(t *testing.T, address string, client *peer.Identity, method, path, ticket, extent string) int {
	t.Helper()
	config := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13}
	if client != nil {
		config.Certificates = []tls.Certificate{tlsCertificate(t, *client)}
	}
	transport := &http.Transport{TLSClientConfig: config}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), method, "https://"+address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", ticket)
	r.Header.Set("Range", extent)
	answer, err := (&http.Client{Transport: transport, Timeout: time.Minute}).Do(r)
	if err != nil {
		return 0
	}
	defer answer.Body.Close()
	return answer.StatusCode
}

// TestClientRefusesOtherServer checks that a client gives its ticket only to the host that the
// controller has named.
func TestClientRefusesOtherServer(t *testing.T) {
	s := newSite(t, 3)
	a, b := s.join("h1", t.TempDir()), s.join("h2", t.TempDir())
	if _, _, err := s.fetch(t.Context(), a, fromController); err != nil {
		t.Fatal(err)
	}
	wrong := s.source(a, "h3", "h2") // h1 answers at the address of h3
	_, reports, err := s.fetch(t.Context(), b, wrong, fromController)
	if err != nil || reports[0].Failed == nil || reports[0].Failed.Why != spread.Unreachable {
		t.Errorf("%+v, %v", reports, err)
	}
}

// TestKeptChunks checks that chunks of a lost session are used again when they have their digests.
func TestKeptChunks(t *testing.T) {
	s := newSite(t, 1)
	dir := t.TempDir()
	damaged := bytes.Clone(s.content)
	damaged[peer.ChunkSize+1]++
	if err := os.WriteFile(filepath.Join(dir, s.digest), damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	n := s.join("h1", dir)
	got, reports, err := s.fetch(t.Context(), n, fromController)
	if err != nil || !bytes.Equal(got, s.content) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	if first := reports[0]; !first.Kept || first.Have != 1 {
		t.Errorf("the host keeps %+v, want one chunk", first)
	}
	if info, err := os.Stat(filepath.Join(dir, s.digest)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	n.Close(false)
	if _, err := os.Stat(filepath.Join(dir, s.digest)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the spool is still there: %v", err)
	}
}

// TestOneAgentHasDirectory checks that a second agent of a host takes no part.
func TestOneAgentHasDirectory(t *testing.T) {
	s := newSite(t, 1)
	dir := t.TempDir()
	n := s.join("h1", dir)
	if _, err := peer.OpenDirectory(dir); err == nil {
		t.Error("two agents have one directory")
	}
	n.Close(true)
	d, err := peer.OpenDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
}

// TestExpire checks that spools of lost sessions are removed after a day.
func TestExpire(t *testing.T) {
	dir := t.TempDir()
	for name, age := range map[string]time.Duration{"old": 25 * time.Hour, "new": time.Hour, "lock": 99 * time.Hour} {
		path := filepath.Join(dir, name)
		at := time.Now().Add(-age)
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	next := peer.Expire(dir)
	if left := time.Until(next); left < 22*time.Hour || left > 24*time.Hour {
		t.Errorf("the next one expires in %v", left)
	}
	entries, _ := os.ReadDir(dir)
	if len(entries) != 2 {
		t.Errorf("left: %v", entries)
	}
	if next := peer.Expire(filepath.Join(dir, "missing")); !next.IsZero() {
		t.Errorf("a missing directory expires at %v", next)
	}
}

// TestReaderStops checks that a reader that waits for a chunk ends with its step.
func TestReaderStops(t *testing.T) {
	s := newSite(t, 1)
	n := s.join("h1", t.TempDir())
	ctx, stop := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, stop)
	if _, _, err := s.fetch(ctx, n, peer.Plan{}); err == nil {
		t.Error("a blob that never came was read")
	}
}

func tlsCertificate(t *testing.T, id peer.Identity) tls.Certificate {
	t.Helper()
	key, err := x509.ParsePKCS8PrivateKey(id.Key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{id.Certificate}, PrivateKey: key}
}

// TestSilentPeer checks that a peer that accepts connections and never answers, as behind some packet
// filters, costs seconds.
func TestSilentPeer(t *testing.T) {
	s := newSite(t, 2)
	b := s.join("h2", t.TempDir())
	l, err := net.Listen("tcp", "127.78.0.9:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	silent := peer.Plan{Peer: &peer.Peer{Name: "h1", Address: l.Addr().String()}}
	began := time.Now()
	got, reports, err := s.fetch(t.Context(), b, silent, fromController)
	if err != nil || !bytes.Equal(got, s.content) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	if reports[0].Failed == nil || reports[0].Failed.Why != spread.Unreachable {
		t.Errorf("%+v", reports[0])
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %v", took)
	}
}
