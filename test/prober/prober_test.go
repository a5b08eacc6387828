package prober

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// fakeCluster answers API, Service and DNS on loopback; the API fails while fails is
// set, and hangs while hangs is set.
type fakeCluster struct {
	*httptest.Server
	fails, hangs atomic.Bool
}

func newFakeCluster(t *testing.T) (*fakeCluster, Target) {
	t.Helper()
	f := &fakeCluster{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the server notices the end of a client only after it has read the body
		switch {
		case r.URL.Path == "/ok":
		case f.hangs.Load():
			<-r.Context().Done()
		case f.fails.Load():
			http.Error(w, "etcdserver: no leader", http.StatusInternalServerError)
		case r.URL.Path == "/api/v1/nodes":
			fmt.Fprint(w, `{"items":[{"metadata":{"name":"n1"},"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}},{"metadata":{"name":"n2"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}]}`)
		case r.URL.Path != "/api/v1/namespaces/probing/configmaps/prober-n1":
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(f.Close)
	return f, Target{
		Clients: []Client{{"n1", new(net.Dialer).DialContext}},
		API:     f.URL, Namespace: "probing", Service: f.URL + "/ok", DNS: nameServer(t), Name: "kubernetes.default.svc.cluster.local.",
	}
}

// nameServer answers every question with 10.96.0.1.
func nameServer(t *testing.T) string {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil {
				continue
			}
			m.Response, m.Additionals = true, nil
			m.Answers = []dnsmessage.Resource{{
				Header: dnsmessage.ResourceHeader{Name: m.Questions[0].Name, Class: dnsmessage.ClassINET, TTL: 1},
				Body:   &dnsmessage.AResource{A: [4]byte{10, 96, 0, 1}},
			}}
			if raw, err := m.Pack(); err == nil {
				_, _ = conn.WriteTo(raw, from)
			}
		}
	}()
	return conn.LocalAddr().String()
}

// TestGap makes the API fail for a time: the gap of its calls is that time, and a
// call fails only when the time exceeds the retries.
func TestGap(t *testing.T) {
	for _, c := range []struct {
		name        string
		outage      time.Duration
		of          func(*fakeCluster) *atomic.Bool
		failedCalls int
	}{
		{"errors for three seconds", 3 * time.Second, func(f *fakeCluster) *atomic.Bool { return &f.fails }, 0},
		{"errors for seven seconds", 7 * time.Second, func(f *fakeCluster) *atomic.Bool { return &f.fails }, 1},
		{"no answer for three seconds", 3 * time.Second, func(f *fakeCluster) *atomic.Bool { return &f.hangs }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f, target := newFakeCluster(t)
			p := Start(target)
			time.Sleep(600 * time.Millisecond)
			c.of(f).Store(true)
			time.Sleep(c.outage)
			c.of(f).Store(false)
			time.Sleep(2500 * time.Millisecond)
			r := p.Stop()
			for _, kind := range []string{KindWrite, KindRead} {
				got := r.Sum(kind)
				// An attempt that hangs ends at its time-out, after the outage.
				if low, high := (c.outage - Interval).Seconds(), (c.outage + AttemptTimeout).Seconds(); got.LongestGap < low || got.LongestGap > high {
					t.Errorf("%s: the longest gap is %.2f s, want %.1f to %.1f", kind, got.LongestGap, low, high)
				}
				if got.FailedCalls != c.failedCalls || got.FailedAttempts == 0 || got.Calls < 5 || len(got.Errors) == 0 {
					t.Errorf("%s: %+v, want %d failed calls", kind, got, c.failedCalls)
				}
			}
			for _, kind := range []string{KindDNS, KindService} {
				if got := r.Sum(kind); got.FailedAttempts != 0 || got.LongestGap > 1 || got.Calls < 10 {
					t.Errorf("%s had no outage: %+v", kind, got)
				}
			}
			if _, seen := r.NotReady["n1"]; !seen || len(r.NotReady) != 1 {
				t.Errorf("nodes that were not Ready: %v, want n1", r.NotReady)
			}
			if text := r.String(); !strings.Contains(text, "write") || !strings.Contains(text, "n1") {
				t.Errorf("the report as text:\n%s", text)
			}
		})
	}
}

// TestOutageAtTheEnd checks that an outage counts that lasts until Stop.
func TestOutageAtTheEnd(t *testing.T) {
	t.Parallel()
	f, target := newFakeCluster(t)
	target.DNS, target.Service = "", ""
	f.fails.Store(true)
	p := Start(target)
	time.Sleep(200 * time.Millisecond)
	got := p.Stop().Sum(KindWrite)
	if got.FailedCalls != 1 || got.LongestGap < Retry.Seconds() {
		t.Errorf("%+v, want one failed call and a gap of %s", got, Retry)
	}
}

// TestClientDown checks that calls from a host that is switched off do not count.
func TestClientDown(t *testing.T) {
	t.Parallel()
	_, target := newFakeCluster(t)
	target.Clients[0].Dial = func(context.Context, string, string) (net.Conn, error) {
		return nil, fmt.Errorf("entering its network: %w", ErrClientDown)
	}
	p := Start(target)
	time.Sleep(500 * time.Millisecond)
	r := p.Stop()
	for _, kind := range kinds {
		if got := r.Sum(kind); got.Calls != 0 || got.FailedAttempts != 0 || got.LongestGap != 0 {
			t.Errorf("%s from a host that is off: %+v", kind, got)
		}
	}
}

// TestWaitServed checks that the wait lasts as long as an outage of one kind, and names it.
func TestWaitServed(t *testing.T) {
	t.Parallel()
	f, target := newFakeCluster(t)
	p := Start(target)
	defer p.Stop()
	if err := p.WaitServed(t.Context()); err != nil {
		t.Fatalf("without an outage: %v", err)
	}
	f.fails.Store(true)
	time.Sleep(Interval) // calls in flight may still succeed
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if err := p.WaitServed(ctx); err == nil || !strings.Contains(err.Error(), "write from n1, read from n1") {
		t.Errorf("while the API fails: %v", err)
	}
	f.fails.Store(false)
	if err := p.WaitServed(t.Context()); err != nil {
		t.Errorf("after the outage: %v", err)
	}
}

// TestSum checks that Sum excludes the given clients.
func TestSum(t *testing.T) {
	r := Report{Calls: []Calls{
		{Kind: KindRead, Client: "n1", Calls: 7, LongestGap: 9},
		{Kind: KindWrite, Client: "n1", Calls: 10, FailedAttempts: 3, FailedCalls: 1, LongestGap: 6},
		{Kind: KindWrite, Client: "n2", Calls: 11, FailedAttempts: 1, LongestGap: 0.5},
	}}
	if got := r.Sum(KindWrite); got.Calls != 21 || got.FailedAttempts != 4 || got.FailedCalls != 1 || got.LongestGap != 6 || got.Client != "n1" {
		t.Errorf("of all clients: %+v", got)
	}
	if got := r.Sum(KindWrite, "n1"); got.Calls != 11 || got.FailedCalls != 0 || got.LongestGap != 0.5 || got.Client != "n2" {
		t.Errorf("without n1: %+v", got)
	}
}

// TestPauseWithoutTime checks that pause returns false after the stop of the prober
// also without a time to wait.
func TestPauseWithoutTime(t *testing.T) {
	stop := make(chan struct{})
	if !pause(stop, 0) {
		t.Error("it ends before the prober")
	}
	close(stop)
	for range 1000 {
		if pause(stop, 0) {
			t.Fatal("it goes on after the prober has been stopped")
		}
	}
}
