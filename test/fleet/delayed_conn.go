package fleet

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Traffic counts the connections and bytes of all hosts.
type Traffic struct {
	Connections int   // opened so far
	Peak        int   // maximum number of open connections
	Received    int64 // encrypted bytes received by hosts
	Sent        int64 // encrypted bytes sent by hosts
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

// delayedConn is a host's end of a connection. It counts bytes and delivers those of
// the host one round-trip time later, so that every request of the controller takes a
// round trip and streams keep their speed.
type delayedConn struct {
	net.Conn
	meter *meter
	delay time.Duration
	queue chan delayedMessage // nil without a delay
	once  sync.Once
	ended chan struct{}
}

// delayedMessage is data in flight.
type delayedMessage struct {
	due  time.Time
	data []byte
}

// maxQueued is the maximum number of messages in flight. Packets of SSH have at most
// 32 KiB, so at 20 ms the limit is about 100 MB/s.
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

// deliver sends each message to the other end when its delay is over.
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
