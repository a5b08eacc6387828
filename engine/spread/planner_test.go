package spread

import (
	"fmt"
	"testing"
	"time"
)

// network is a planner with the last assignment of each host.
type network struct {
	*testing.T
	*Planner
	sources map[string]Source
}

const (
	digest = "blob"
	chunks = 10
)

// newNetwork returns hosts h00, h01, ... in racks of perRack, which all listen.
func newNetwork(t *testing.T, hosts, perRack int) *network {
	var all []Host
	for i := range hosts {
		all = append(all, Host{Name: name(i), Rack: fmt.Sprint(i / perRack)})
	}
	n := &network{T: t, Planner: NewPlanner(all, DefaultLimits()), sources: map[string]Source{}}
	for i := range hosts {
		n.note(n.Listening(name(i), true))
	}
	return n
}

func name(i int) string { return fmt.Sprintf("h%02d", i) }

func (n *network) note(all []Assignment) {
	for _, a := range all {
		n.sources[a.Host] = a.Source
	}
}

func (n *network) request(i int) Source {
	n.note(n.Request(name(i), digest, chunks))
	return n.sources[name(i)]
}

// complete gives a host the whole blob, as if from an earlier session.
func (n *network) complete(i int) {
	n.request(i)
	n.note(n.Keep(name(i), digest, chunks))
}

func (n *network) fail(i int, why Failure) {
	n.note(n.Fail(name(i), digest, n.sources[name(i)].Peer, why))
}

// TestLiarIsExcluded checks that one wrong chunk excludes its sender for all, and that hosts that it
// serves get another source at once.
func TestLiarIsExcluded(t *testing.T) {
	n := newNetwork(t, 6, 6)
	n.complete(0)
	if s := n.request(1); s.Peer != "h00" {
		t.Fatalf("h01 has the source %+v", s)
	}
	n.request(2)
	n.fail(1, Corrupt)
	for _, i := range []int{1, 2} {
		if s := n.sources[name(i)]; s.Peer == "h00" {
			t.Errorf("%s still has the source %+v", name(i), s)
		}
	}
	if s := n.request(3); s.Peer == "h00" {
		t.Error("the liar is asked again")
	}
	if why := n.Excluded()["h00"]; why != Corrupt {
		t.Errorf("h00 is excluded for %q", why)
	}
}

// TestAccuserIsBounded checks that one host cannot exclude more than maxAccusations others.
func TestAccuserIsBounded(t *testing.T) {
	n := newNetwork(t, 9, 9)
	for i := range 6 {
		n.complete(i)
	}
	n.request(8)
	for range 6 {
		n.fail(8, Corrupt)
	}
	if excluded := n.Excluded(); len(excluded) != maxAccusations {
		t.Errorf("one host has excluded %v", excluded)
	}
	if s := n.sources["h08"]; !s.Controller || !n.CutOff("h08") {
		t.Errorf("the accuser has the source %+v", s)
	}
}

// TestSlowHostKeepsItsSource checks that a host that finds every source slow stays with the third.
func TestSlowHostKeepsItsSource(t *testing.T) {
	n := newNetwork(t, 9, 9)
	for i := range 6 {
		n.complete(i)
	}
	n.request(8)
	n.fail(8, Slow)
	n.fail(8, Slow)
	third := n.sources["h08"]
	if n.fail(8, Slow); n.sources["h08"] != third || len(n.Excluded()) != maxAccusations {
		t.Errorf("source %+v after %+v, excluded %v", n.sources["h08"], third, n.Excluded())
	}
}

// TestSlowIsRelative checks that a source is slow in comparison with others only.
func TestSlowIsRelative(t *testing.T) {
	for took, excluded := range map[time.Duration]int{time.Second: 0, 40 * time.Second: 1} {
		n := newNetwork(t, 3, 3)
		n.complete(0)
		n.request(1)
		for have := 1; have <= 8; have++ {
			n.note(n.Progress("h01", digest, have, time.Second)) // the network is slow
		}
		n.note(n.Progress("h01", digest, 9, took))
		if len(n.Excluded()) != excluded {
			t.Errorf("a chunk in %v: excluded %v, want %d", took, n.Excluded(), excluded)
		}
	}
}

// TestCutOffHost checks that a host that reaches two peers in vain is served by the controller, and
// that peers that two hosts fail to reach serve nobody.
func TestCutOffHost(t *testing.T) {
	n := newNetwork(t, 12, 12)
	for i := range 5 {
		n.complete(i)
	}
	n.request(10)
	n.fail(10, Unreachable)
	if n.CutOff("h10") || n.sources["h10"].Peer == "" {
		t.Fatalf("after one failure: %+v", n.sources["h10"])
	}
	n.fail(10, Unreachable)
	if !n.CutOff("h10") || !n.sources["h10"].Controller {
		t.Errorf("after two failures: %+v", n.sources["h10"])
	}
	n.note(n.Progress("h10", digest, chunks, time.Second))
	if _, fallback := n.Sent(digest); fallback != chunks {
		t.Error("the chunks from the controller are not counted as fallback")
	}
	if n.Blocked() {
		t.Error("one host blocks the network")
	}
}

// TestBlockedNetwork checks that the controller serves all when the first hosts reach nobody.
func TestBlockedNetwork(t *testing.T) {
	n := newNetwork(t, 40, 40)
	for i := range 10 {
		n.complete(i)
	}
	for i := range maxUnreached {
		n.request(20 + i)
		n.fail(20+i, Unreachable)
	}
	if !n.Blocked() {
		t.Fatal("the network is not blocked")
	}
	if s := n.request(39); !s.Controller {
		t.Errorf("the next host has the source %+v", s)
	}
}

// TestHostsWaitForSource checks that hosts of a rack wait for their first one instead of taking copies
// from the controller, and that a host that has waited too long takes one.
func TestHostsWaitForSource(t *testing.T) {
	n := newNetwork(t, 4, 4)
	n.note(n.Listening("h00", false))
	if s := n.request(0); !s.Controller {
		t.Fatalf("the first host has the source %+v", s)
	}
	if s := n.request(1); !s.Waits() {
		t.Fatalf("the second host has the source %+v", s)
	}
	n.note(n.Listening("h00", true))
	if s := n.sources["h01"]; s.Peer != "h00" {
		t.Errorf("when the first one listens: %+v", s)
	}
	n.note(n.Leave("h00"))
	if s := n.sources["h01"]; !s.Controller {
		t.Errorf("when the first one has left: %+v", s)
	}
}

// TestCompleteHostAsksAgain checks that a host that has the blob and asks again keeps serving.
func TestCompleteHostAsksAgain(t *testing.T) {
	n := newNetwork(t, 2, 2)
	n.complete(0)
	n.request(1)
	n.request(0)
	if s := n.sources["h01"]; s.Peer != "h00" {
		t.Errorf("h01 has the source %+v", s)
	}
}

// TestForeignReports checks that reports about unknown hosts, blobs and impossible chunks change nothing.
func TestForeignReports(t *testing.T) {
	n := newNetwork(t, 2, 2)
	n.request(0)
	for _, out := range [][]Assignment{
		n.Request("stranger", digest, chunks), n.Request("h00", "other", 0), n.Progress("h01", digest, 1, 0),
		n.Progress("h00", digest, chunks+1, 0), n.Progress("h00", digest, -1, 0), n.Fail("h00", digest, "stranger", Corrupt),
		n.Fail("h00", "other", "h01", Corrupt), n.Force("h00", digest), n.Leave("stranger"), n.Keep("h00", digest, chunks+1),
	} {
		if len(out) > 0 {
			t.Errorf("assigned %+v", out)
		}
	}
	if len(n.Excluded()) > 0 {
		t.Errorf("excluded %v", n.Excluded())
	}
}
