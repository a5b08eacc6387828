// Package systembus reads properties of a host's services over its D-Bus, which
// takes a tenth of the processor time of systemctl, a program that has to be started
// for each question.
//
// The protocol is that of github.com/godbus/dbus. This package adds the limits that an
// agent needs: no call takes longer than [CallTimeout] or outlives its context, and
// neither does the connection's greeting.
package systembus

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/godbus/dbus/v5"
)

// Socket is the socket of the system bus.
const Socket = "/run/dbus/system_bus_socket"

// CallTimeout is the maximum duration of the greeting and of a call. systemd answers
// within milliseconds.
const CallTimeout = 5 * time.Second

// Conn is a connection to a bus. Several goroutines may use it.
type Conn struct {
	mu  sync.Mutex // held during a call, because the write deadline belongs to one call
	net net.Conn
	bus *dbus.Conn
}

// Dial connects to the bus at a socket and authenticates as the user of this process.
// Dial fails when the bus does not answer within CallTimeout or until ctx is done. The
// caller closes the connection.
func Dial(ctx context.Context, socket string) (*Conn, error) {
	dialer := net.Dialer{Timeout: CallTimeout}
	n, err := dialer.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, err
	}
	bus, err := dbus.NewConn(n)
	if err != nil {
		return nil, errors.Join(err, n.Close())
	}
	c := &Conn{net: n, bus: bus}
	if err := c.greet(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("greeting the bus: %w", err), c.Close())
	}
	return c, nil
}

// Close closes the connection.
func (c *Conn) Close() error { return c.bus.Close() }

// greet authenticates and requests a name on the bus.
func (c *Conn) greet(ctx context.Context) error {
	_ = c.net.SetDeadline(time.Now().Add(CallTimeout))
	stop := context.AfterFunc(ctx, func() { _ = c.net.SetDeadline(time.Unix(1, 0)) })
	external := dbus.AuthExternal(strconv.Itoa(os.Geteuid()))
	if err := c.bus.Auth([]dbus.Auth{external}); err != nil {
		return err
	}
	if err := c.bus.Hello(); err != nil {
		return err
	}
	if !stop() {
		return ctx.Err()
	}
	return c.net.SetDeadline(time.Time{})
}

// Properties returns the properties of an object, of all its interfaces together. The
// values have the types that godbus decodes: string, bool, sized integers, slices of
// these, and []any for structs. After an error the connection is unusable and the
// caller closes it.
func (c *Conn) Properties(ctx context.Context, service, object string) (map[string]any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	// A bus that does not read would block the write, which knows no context.
	_ = c.net.SetWriteDeadline(time.Now().Add(CallTimeout))
	defer context.AfterFunc(ctx, func() { _ = c.net.SetWriteDeadline(time.Unix(1, 0)) })()
	call := c.bus.Object(service, dbus.ObjectPath(object)).CallWithContext(ctx, "org.freedesktop.DBus.Properties.GetAll", 0, "")
	var variants map[string]dbus.Variant
	if err := call.Store(&variants); err != nil {
		return nil, fmt.Errorf("waiting for the answer of %s: %w", service, err)
	}
	values := make(map[string]any, len(variants))
	for name, v := range variants {
		values[name] = v.Value()
	}
	return values, nil
}
