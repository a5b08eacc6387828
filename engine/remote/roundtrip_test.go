package remote

import (
	"context"
	"net"
	"sync"
	"testing"

	"deployer/engine/agent/agenttest"
	"deployer/engine/transport/ssh"
	"deployer/engine/transport/sshtest"
)

// trips counts the round trips that one end of a connection has waited for. Each end
// has a depth. Data that an end writes carries the end's depth, and an end that reads
// and then writes is one deeper than the data that it read. The duration has no
// effect.
type trips struct {
	mu       sync.Mutex
	depth    [2]int      // of the controller and of the host
	unread   [2][]spoken // on the way to them
	finished int
}

// spoken is the number of bytes that were written at a depth.
type spoken struct{ bytes, depth int }

const (
	controllerEnd = 0
	hostEnd       = 1
)

// count returns the round trips since it was called last.
func (c *trips) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.depth[controllerEnd] - c.finished
	c.finished = c.depth[controllerEnd]
	return n
}

// counted is one end of the connection.
type counted struct {
	net.Conn
	trips *trips
	end   int
}

func (c *counted) Write(p []byte) (int, error) {
	c.trips.mu.Lock()
	other := 1 - c.end
	c.trips.unread[other] = append(c.trips.unread[other], spoken{len(p), c.trips.depth[c.end]})
	c.trips.mu.Unlock()
	return c.Conn.Write(p)
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.trips.mu.Lock()
	defer c.trips.mu.Unlock()
	for left, queue := n, &c.trips.unread[c.end]; left > 0; {
		first := &(*queue)[0]
		depth := first.depth
		if c.end == controllerEnd {
			depth++
		}
		c.trips.depth[c.end] = max(c.trips.depth[c.end], depth)
		taken := min(left, first.bytes)
		left -= taken
		if first.bytes -= taken; first.bytes == 0 {
			*queue = (*queue)[1:]
		}
	}
	return n, err
}

// over returns a dialer for the server whose round trips are counted.
func (c *trips) over(server *sshtest.Server) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			return nil, err
		}
		host, err := l.Accept()
		if err != nil {
			return nil, err
		}
		go server.Serve(&counted{Conn: host, trips: c, end: hostEnd})
		return &counted{Conn: conn, trips: c, end: controllerEnd}, nil
	}
}

// TestRoundTrips: a connection to a host that has the agent costs at most one round
// trip more than a plain command, such as the probe; a segment costs one.
func TestRoundTrips(t *testing.T) {
	h := newTestHost(t, "", nil)
	first, err := h.connect(t, nil) // brings the agent
	if err != nil {
		t.Fatal(err)
	}
	_ = first.Close()
	c := &trips{}
	dialer := ssh.NewDialer(ssh.Options{Net: c.over(h.server)})
	defer dialer.Close()
	conn, err := dialer.Dial(t.Context(), h.target)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("dial: %d round trips", c.count())
	if _, err := conn.Exec(t.Context(), "uname -sm", nil, nil); err != nil {
		t.Fatal(err)
	}
	command := c.count()
	s, err := Connect(t.Context(), conn, Options{Host: "m1", Binaries: ownBinaries(), Sink: h.events, Dir: h.dir, Blobs: &agenttest.Blobs{}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	start := c.count()
	t.Logf("a command: %d round trips; the agent: %d", command, start)
	if start > command+1 {
		t.Errorf("starting the agent costs %d round trips, a command %d", start, command)
	}
	works(t, s)
	if n := c.count(); n != 1 {
		t.Errorf("a segment costs %d round trips, want 1", n)
	}
}
