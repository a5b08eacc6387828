package tracker

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"deployer/engine"
	"deployer/engine/protocol"
	"deployer/engine/spread"
	"deployer/engine/spread/peer"
)

// fixture is a tracker of three hosts with one blob.
type fixture struct {
	*Tracker
	mu     sync.Mutex
	events []engine.Event
	size   int64
	opened int
}

var digest = strings.Repeat("ab", 32)

// OpenShared implements Blobs.
func (f *fixture) OpenShared(d string) (io.ReadCloser, int64, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.opened++
	if d != digest {
		return nil, 0, false, fmt.Errorf("no blob %s", d)
	}
	return io.NopCloser(bytes.NewReader(make([]byte, f.size))), f.size, true, nil
}

func (f *fixture) emit(e engine.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, e)
}

func (f *fixture) texts(kind engine.EventType) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, e := range f.events {
		if e.Type == kind {
			out = append(out, e.Host+": "+e.Text)
		}
	}
	return out
}

func newFixture(t *testing.T, size int64) *fixture {
	t.Helper()
	f := &fixture{size: size}
	var hosts []Host
	for i := range 3 {
		hosts = append(hosts, Host{Host: spread.Host{Name: fmt.Sprintf("h%d", i+1), Rack: "r"}, Address: fmt.Sprintf("10.0.0.%d", i+1)})
	}
	var err error
	if f.Tracker, err = New(Options{Hosts: hosts, Blobs: f, Port: 7475, Emit: f.emit}); err != nil {
		t.Fatal(err)
	}
	return f
}

func listening(yes bool) protocol.PlanReport { return protocol.PlanReport{Listening: &yes} }

// TestPlanOfSecondHost checks that the second host is sent to the first one as soon as that listens,
// with a ticket that the first one accepts, and that the sum of the run counts both.
func TestPlanOfSecondHost(t *testing.T) {
	f := newFixture(t, 2*peer.ChunkSize)
	one, two := f.Attach("h1"), f.Attach("h2")
	first, _, ok := one.Request(t.Context(), digest)
	if !ok || !first.Controller || first.Size != f.size || len(first.Sums) != 64 {
		t.Fatalf("the first host gets %+v", first)
	}
	second, later, ok := two.Request(t.Context(), digest)
	if !ok || second.Controller || second.Peer != nil {
		t.Fatalf("the second host gets %+v", second)
	}
	one.Report(digest, listening(true))
	var p peer.Peer
	if err := json.Unmarshal((<-later).Peer, &p); err != nil {
		t.Fatal(err)
	}
	var id peer.Identity
	if err := json.Unmarshal(first.Identity, &id); err != nil {
		t.Fatal(err)
	}
	if want := (peer.Peer{Name: "h1", Address: "10.0.0.1:7475", Ticket: peer.Ticket(id.TicketKey, "h2", digest)}); p != want {
		t.Errorf("the source is %+v, want %+v", p, want)
	}
	one.Report(digest, protocol.PlanReport{Have: 2})
	two.Report(digest, protocol.PlanReport{Have: 2})
	if got := f.texts(engine.EventReceived); fmt.Sprint(got) != "[h1: from the controller h2: from h1]" {
		t.Errorf("received: %q", got)
	}
	f.Close()
	if got := f.texts(engine.EventDistributed); len(got) != 1 || !strings.Contains(got[0], "8 MiB from the controller, which are 1.0 copies; 8 MiB among hosts") {
		t.Errorf("the sum is %q", got)
	}
	if f.opened != 1 {
		t.Errorf("the blob was hashed %d times", f.opened)
	}
}

// TestControllerSends checks the requests that get no plan.
func TestControllerSends(t *testing.T) {
	f, small := newFixture(t, 2*peer.ChunkSize), newFixture(t, minSize-1)
	ended := f.Attach("h2")
	ended.Leave()
	for name, request := range map[string]func(ctx context.Context) bool{
		"a small blob": func(ctx context.Context) bool { _, _, ok := small.Attach("h1").Request(ctx, digest); return ok },
		"an unknown blob": func(ctx context.Context) bool {
			_, _, ok := f.Attach("h1").Request(ctx, strings.Repeat("0", 64))
			return ok
		},
		"a host without address": func(ctx context.Context) bool { _, _, ok := f.Attach("localhost").Request(ctx, digest); return ok },
		"a session that ended":   func(ctx context.Context) bool { _, _, ok := ended.Request(ctx, digest); return ok },
	} {
		if request(t.Context()) {
			t.Errorf("%s gets a plan", name)
		}
	}
}

// TestOtherSessionOfHost checks that a session that only tests the connection takes nothing from the
// one that receives blobs, and that a session after a loss does.
func TestOtherSessionOfHost(t *testing.T) {
	f := newFixture(t, 2*peer.ChunkSize)
	one := f.Attach("h1")
	if _, _, ok := one.Request(t.Context(), digest); !ok {
		t.Fatal("no plan")
	}
	one.Report(digest, listening(true))
	f.Attach("h1").Leave()
	if p, _, _ := f.Attach("h2").Request(t.Context(), digest); p.Peer == nil {
		t.Errorf("h1 is no source any more: %+v", p)
	}
	again := f.Attach("h1")
	if p, _, ok := again.Request(t.Context(), digest); !ok || p.Peer != nil {
		t.Errorf("the next session of h1 gets %+v", p)
	}
	one.Report(digest, protocol.PlanReport{Have: 2}) // the former session counts no more
	one.Leave()
	if got := f.texts(engine.EventReceived); len(got) > 0 {
		t.Errorf("received: %q", got)
	}
}

// TestHostileReports checks that a host cannot claim more chunks than there are.
func TestHostileReports(t *testing.T) {
	f := newFixture(t, 2*peer.ChunkSize)
	one := f.Attach("h1")
	one.Report(digest, protocol.PlanReport{Have: 1})
	_, _, _ = one.Request(t.Context(), digest)
	for _, r := range []protocol.PlanReport{{Have: 3}, {Have: -1}, {Have: 1 << 40}, {Have: 3, Kept: true}, {Failed: "h2", Why: "corrupt"}, {Failed: "x", Why: "y"}} {
		one.Report(digest, r)
	}
	one.Report("other", protocol.PlanReport{Have: 1})
	if got := f.texts(engine.EventReceived); len(got) > 0 {
		t.Errorf("received: %q", got)
	}
	if copies, fallback := f.planner.Sent(digest); copies != 0 || fallback != 0 {
		t.Errorf("%d and %d chunks are counted", copies, fallback)
	}
	f.Close()
	if got := f.texts(engine.EventDistributed); len(got) > 0 {
		t.Errorf("the sum is %q", got)
	}
	if got := f.texts(engine.EventWarning); len(got) > 0 {
		t.Errorf("warnings: %q", got)
	}
}

// TestWrongContentIsNamed checks the warning about a host that sends wrong chunks, which comes once.
func TestWrongContentIsNamed(t *testing.T) {
	f := newFixture(t, 2*peer.ChunkSize)
	one := f.Attach("h1")
	_, _, _ = one.Request(t.Context(), digest)
	one.Report(digest, listening(true))
	for _, name := range []string{"h2", "h3"} {
		other := f.Attach(name)
		_, _, _ = other.Request(t.Context(), digest)
		other.Report(digest, protocol.PlanReport{Failed: "h1", Why: string(spread.Corrupt), Text: "no match"})
	}
	if got := f.texts(engine.EventWarning); len(got) != 1 || got[0] != "h1: the host sent h2 a chunk with wrong content; other hosts no longer ask it" {
		t.Errorf("warnings: %q", got)
	}
}
