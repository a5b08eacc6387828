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
	open           load
	received, sent atomic.Int64
}

func (m *meter) read() Traffic {
	return Traffic{
		Connections: int(m.connections.Load()), Peak: m.open.most(),
		Received: m.received.Load(), Sent: m.sent.Load(),
	}
}

func (m *meter) reset() {
	m.connections.Store(0)
	m.received.Store(0)
	m.sent.Store(0)
	m.open.forget()
}

// line is a host's end of a connection. It counts what goes over it, and what
// the host says arrives a round trip later: so every question of the controller
// costs one, as it does over a distance, and a stream is as fast as before.
type line struct {
	net.Conn
	meter *meter
	delay time.Duration
	queue chan late // nil without a delay
	once  sync.Once
	ended chan struct{}
}

// late is something said that has not arrived yet.
type late struct {
	due  time.Time
	data []byte
}

// queued bounds what is on its way at one time, in messages. The pieces of SSH
// are of 32 KiB at most, so it is about 100 MB/s at 20 ms.
const queued = 64

func newLine(conn net.Conn, m *meter, delay time.Duration) *line {
	l := &line{Conn: conn, meter: m, delay: delay, ended: make(chan struct{})}
	m.connections.Add(1)
	m.open.begin()
	if delay > 0 {
		l.queue = make(chan late, queued)
		go l.carry()
	}
	return l
}

func (l *line) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	l.meter.received.Add(int64(n))
	return n, err
}

func (l *line) Write(p []byte) (int, error) {
	l.meter.sent.Add(int64(len(p)))
	if l.queue == nil {
		return l.Conn.Write(p)
	}
	select {
	case l.queue <- late{time.Now().Add(l.delay), append([]byte(nil), p...)}:
		return len(p), nil
	case <-l.ended:
		return 0, net.ErrClosed
	}
}

// carry brings what was said to the other end when its time has come.
func (l *line) carry() {
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

func (l *line) Close() error {
	l.once.Do(func() {
		close(l.ended)
		l.meter.open.end()
	})
	return l.Conn.Close()
}
