// Package systembus asks services of a host for their properties over its D-Bus,
// which takes a tenth of the processor time of a program that does so.
//
// It can do no more than that. The usual library would make the agent larger by
// as much as all of its room to grow.
package systembus

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Socket is where the bus of the system listens.
const Socket = "/run/dbus/system_bus_socket"

// callTimeout bounds the wait for one answer.
const callTimeout = 5 * time.Second

// Conn is a connection to a bus. It may be used by several goroutines.
type Conn struct {
	mu     sync.Mutex
	net    net.Conn
	in     *bufio.Reader
	serial uint32
}

// Dial connects to the bus at a socket.
func Dial(ctx context.Context, socket string) (*Conn, error) {
	var dialer net.Dialer
	n, err := dialer.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, err
	}
	c := &Conn{net: n, in: bufio.NewReader(n)}
	if err := c.greet(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("greeting the bus: %w", err), n.Close())
	}
	return c, nil
}

// Close ends the connection.
func (c *Conn) Close() error { return c.net.Close() }

// greet says who we are, as the socket knows anyway, and gets a name on the bus.
func (c *Conn) greet(ctx context.Context) error {
	defer c.limit(ctx)()
	uid := hex.EncodeToString([]byte(strconv.Itoa(os.Geteuid())))
	if _, err := fmt.Fprintf(c.net, "\x00AUTH EXTERNAL %s\r\n", uid); err != nil {
		return err
	}
	line, err := c.in.ReadString('\n')
	if err != nil {
		return err
	}
	if !strings.HasPrefix(line, "OK ") {
		return fmt.Errorf("it does not know us: %q", strings.TrimSpace(line))
	}
	if _, err := io.WriteString(c.net, "BEGIN\r\n"); err != nil {
		return err
	}
	_, err = c.call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "Hello")
	return err
}

// Properties returns those of an object, of all its interfaces together. Numbers
// are uint64, arrays and structs []any. After an error, the connection is of no
// more use.
func (c *Conn) Properties(ctx context.Context, service, object string) (map[string]any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.limit(ctx)()
	reply, err := c.call(service, object, "org.freedesktop.DBus.Properties", "GetAll", "")
	if err != nil {
		return nil, err
	}
	pairs, err := reply.array("a{sv}")
	if err != nil {
		return nil, err
	}
	all := make(map[string]any, len(pairs))
	for _, p := range pairs {
		pair, _ := p.([]any)
		if name, ok := pair[0].(string); ok {
			all[name] = pair[1]
		}
	}
	return all, nil
}

// limit bounds what follows by patience and ctx, until stop is called.
func (c *Conn) limit(ctx context.Context) (stop func()) {
	_ = c.net.SetDeadline(time.Now().Add(callTimeout))
	end := context.AfterFunc(ctx, func() { _ = c.net.SetDeadline(time.Unix(1, 0)) })
	return func() { end() }
}

// call sends a message and waits for what answers it. Signals are passed over.
func (c *Conn) call(service, object, iface, member string, args ...string) (message, error) {
	c.serial++
	if _, err := c.net.Write(request(c.serial, service, object, iface, member, args...)); err != nil {
		return message{}, err
	}
	for {
		m, err := receive(c.in)
		if err != nil {
			return message{}, fmt.Errorf("waiting for the answer of %s: %w", service, err)
		}
		if m.replyTo == c.serial {
			return m, m.problem()
		}
	}
}
