package fleet

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Traffic is what hosts have seen of their controller.
type Traffic struct {
	Connections int   // made so far
	Peak        int   // at one moment
	Received    int64 // bytes, as they came over the network: encrypted
	Sent        int64 // likewise
}

// meter counts the traffic of all hosts.
type meter struct {
	connections    atomic.Int64
	open           concurrency
	received, sent atomic.Int64
}

func (m *meter) read() Traffic {
	return Traffic{
		Connections: int(m.connections.Load()), Peak: m.open.max(),
		Received: m.received.Load(), Sent: m.sent.Load(),
	}
}

func (m *meter) reset() {
	m.connections.Store(0)
	m.received.Store(0)
	m.sent.Store(0)
	m.open.reset()
}

// delayedConn is a host's end of a connection. It counts what goes over it, and what
// the host says arrives a round trip later: so every question of the controller
// costs one, as it does over a distance, and a stream is as fast as before.
type delayedConn struct {
	net.Conn
	meter *meter
	delay time.Duration
	queue chan delayedMessage // nil without a delay
	once  sync.Once
	ended chan struct{}
}

// delayedMessage is something said that has not arrived yet.
type delayedMessage struct {
	due  time.Time
	data []byte
}

// maxQueued bounds what is on its way at one time, in messages. The pieces of SSH
// are of 32 KiB at most, so it is about 100 MB/s at 20 ms.
const maxQueued = 64

func newDelayedConn(conn net.Conn, m *meter, delay time.Duration) *delayedConn {
	l := &delayedConn{Conn: conn, meter: m, delay: delay, ended: make(chan struct{})}
	m.connections.Add(1)
	m.open.begin()
	if delay > 0 {
		l.queue = make(chan delayedMessage, maxQueued)
		go l.deliver()
	}
	return l
}

func (l *delayedConn) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	l.meter.received.Add(int64(n))
	return n, err
}

func (l *delayedConn) Write(p []byte) (int, error) {
	l.meter.sent.Add(int64(len(p)))
	if l.queue == nil {
		return l.Conn.Write(p)
	}
	select {
	case l.queue <- delayedMessage{time.Now().Add(l.delay), append([]byte(nil), p...)}:
		return len(p), nil
	case <-l.ended:
		return 0, net.ErrClosed
	}
}

// deliver brings what was said to the other end when its time has come.
func (l *delayedConn) deliver() {
	for {
		select {
		case m := <-l.queue:
			time.Sleep(time.Until(m.due))
			if _, err := l.Conn.Write(m.data); err != nil {
				_ = l.Close()
				return
			}
		case <-l.ended:
			return
		}
	}
}

func (l *delayedConn) Close() error {
	l.once.Do(func() {
		close(l.ended)
		l.meter.open.end()
	})
	return l.Conn.Close()
}
